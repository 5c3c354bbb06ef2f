//! Dependencies between sibling modules of a crate, at every level, as its sources name them.

use std::collections::{BTreeMap, BTreeSet};

/// Sibling modules that each module needs.
pub(super) type Needs = BTreeMap<String, BTreeSet<String>>;

/// The needs of the children of each module, by the module's path; the crate's root has an empty one.
pub(super) type Levels = BTreeMap<Vec<String>, Needs>;

/// One file: the modules that lead to it, none for the root of the crate, and its text.
pub(super) struct ModuleSource {
    pub(super) place: Vec<String>,
    pub(super) text: String,
}

/// The needs of a crate's modules: everything that they name by a path, except in comments and tests. A name that a
/// module re-exports counts where it is declared.
pub(super) fn needs(sources: &[ModuleSource]) -> Levels {
    let mut tests = Vec::new();
    let read: Vec<(&[String], String)> = sources
        .iter()
        .map(|source| {
            let (code, found) = without_tests(&source.text);
            tests.extend(found.into_iter().map(|name| [source.place.clone(), vec![name]].concat()));
            (&source.place[..], code)
        })
        .collect();
    let modules: BTreeSet<&[String]> = read.iter().map(|(place, _)| *place).collect();
    let exports = re_exports(&read, &modules);
    let mut levels = Levels::new();
    for (place, code) in &read {
        if tests.iter().any(|test| place.starts_with(test)) {
            continue;
        }
        for depth in 0..place.len() {
            levels.entry(place[..depth].to_vec()).or_default().entry(place[depth].clone()).or_default();
        }
        for path in named_paths(place, code) {
            let path = resolve(path, &modules, &exports);
            // The two paths diverge at one level, and there one sibling needs the other.
            let depth = place.iter().zip(&path).take_while(|(own, other)| own == other).count();
            let (Some(own), Some(other)) = (place.get(depth), path.get(depth)) else { continue };
            if modules.contains(&path[..=depth]) {
                let level = levels.entry(place[..depth].to_vec()).or_default();
                level.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    levels
}

/// Path that each imported name stands for, from the root of the crate, by the path of the name.
type Exports = BTreeMap<Vec<String>, Vec<String>>;

/// Names that modules import from the crate, and so give to their children and, re-exported, to others.
fn re_exports(read: &[(&[String], String)], modules: &BTreeSet<&[String]>) -> Exports {
    let mut exports = Exports::new();
    for (place, code) in read {
        for path in paths(code, "use ") {
            let above = path.iter().take_while(|part| **part == "super").count();
            let (base, rest) = match path.first() {
                Some(&"crate") => (&place[..0], &path[1..]),
                Some(&"self") => (*place, &path[1..]),
                _ => (&place[..place.len().saturating_sub(above)], &path[above..]),
            };
            let rest: Vec<String> = rest.iter().map(|part| (*part).to_owned()).collect();
            let Some(name) = rest.last() else { continue };
            let (own, target) = ([*place, std::slice::from_ref(name)].concat(), [base, &rest].concat());
            let is_ours =
                matches!(path[0], "crate" | "self" | "super") || modules.contains(&target[..=base.len()]);
            if is_ours && own != target {
                exports.insert(own, target);
            }
        }
    }
    exports
}

/// The path of an item where it is declared: re-exported names are replaced by what they stand for.
fn resolve(mut path: Vec<String>, modules: &BTreeSet<&[String]>, exports: &Exports) -> Vec<String> {
    // Names can stand for each other in a circle.
    for _ in 0..8 {
        let Some(name) = (1..=path.len()).find(|end| !modules.contains(&path[..*end])) else { break };
        let Some(target) = exports.get(&path[..name]) else { break };
        path = [target, &path[name..]].concat();
    }
    path
}

/// The paths in the code of a module, from the root of the crate.
fn named_paths(place: &[String], code: &str) -> Vec<Vec<String>> {
    let owned = |path: &[&str]| path.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let mut all: Vec<Vec<String>> = paths(code, "crate::").iter().map(|path| owned(path)).collect();
    for path in paths(code, "super::") {
        // The word itself is one step up, and others may follow.
        let more = path.iter().take_while(|part| **part == "super").count();
        let above = &place[..place.len().saturating_sub(1 + more)];
        all.push([above, &owned(&path[more..])].concat());
    }
    all
}

/// Every path after a word that is not part of another one. A tree of `use` is one path per leaf.
fn paths<'c>(code: &'c str, word: &str) -> Vec<Vec<&'c str>> {
    let mut paths = Vec::new();
    for (at, _) in code.match_indices(word) {
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            tree(&code[at + word.len()..], &[], &mut paths);
        }
    }
    paths
}

/// Reads a path or a tree of them; returns the rest of the text.
fn tree<'c>(text: &'c str, before: &[&'c str], paths: &mut Vec<Vec<&'c str>>) -> &'c str {
    let (mut text, mut path) = (text.trim_start(), before.to_vec());
    loop {
        if let Some(inside) = text.strip_prefix('{') {
            return branches(inside, &path, paths);
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        path.extend((end > 0).then_some(&text[..end]));
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(rest) if end > 0 => text = rest,
            _ => break,
        }
    }
    paths.push(path);
    text
}

/// The trees in braces.
fn branches<'c>(mut text: &'c str, before: &[&'c str], paths: &mut Vec<Vec<&'c str>>) -> &'c str {
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix('}') {
            return rest;
        }
        text = tree(text, before, paths);
        // After the path there may be another name for it, or a star.
        let Some(end) = text.find([',', '}']) else { return text };
        text = text[end..].strip_prefix(',').unwrap_or(&text[end..]);
    }
}

/// The code without comments and without items that are compiled only for tests, and the names of such modules that are
/// separate files. In rustfmt's style, an item ends at a line that is indented like its first one.
fn without_tests(text: &str) -> (String, Vec<String>) {
    let (mut code, mut tests) = (String::new(), Vec::new());
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("#[cfg(test)]").filter(|indent| indent.trim().is_empty()) else {
            code.push_str(line);
            code.push('\n');
            continue;
        };
        let item = lines.by_ref().find(|line| !line.trim_start().starts_with("#[")).unwrap_or_default();
        if let Some((_, name)) =
            item.trim_end_matches(';').rsplit_once("mod ").filter(|_| item.ends_with(';'))
        {
            tests.push(name.to_owned());
        }
        let ends = |line: &str| {
            line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '))
                && line.ends_with([';', ',', '}'])
        };
        if !ends(item) {
            let _rest = lines.by_ref().find(|line| ends(line));
        }
    }
    (code, tests)
}

/// The modules of a cycle in their order, the first again at the end; `None` if there is none.
pub(super) fn circle(needs: &Needs) -> Option<Vec<&str>> {
    let mut seen = BTreeSet::new();
    needs.keys().find_map(|module| walk(needs, module, &mut Vec::new(), &mut seen))
}

fn walk<'n>(
    needs: &'n Needs,
    module: &'n str,
    way: &mut Vec<&'n str>,
    seen: &mut BTreeSet<&'n str>,
) -> Option<Vec<&'n str>> {
    if let Some(start) = way.iter().position(|earlier| *earlier == module) {
        return Some([&way[start..], &[module]].concat());
    }
    if !seen.insert(module) {
        return None;
    }
    way.push(module);
    let found = needs.get(module).into_iter().flatten().find_map(|next| walk(needs, next, way, seen));
    way.pop();
    found
}

#[test]
fn a_module_needs_what_it_names_outside_comments_and_tests() {
    let source = |place: &str, text: &str| ModuleSource {
        place: place.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        text: text.to_owned(),
    };
    let sources = [
        source("", "mod door;\nmod error;\nmod state;\nmod wire;\n\npub use error::{Error, Result};\n"),
        source("door", "use crate::state::State;\n\nfn open() -> crate::Result<()> {}\n"),
        source(
            "door/key",
            "//! As [`crate::wire`] says.\n\nuse super::super::wire::{self as line, Head};\n\
             use super::lock;\n\
             \n#[cfg(test)]\nmod tests {\n    use crate::error::Error;\n}\n",
        ),
        source("door/lock", "use super::{Turn, key};\n"),
        source("error", "#[cfg(test)]\nmod wrong;\n\nuse pyxis_core::state::State;\n"),
        source("error/wrong", "use crate::door::open;\n"),
        source("state", "use crate::{\n    Error,\n    wire::{Head, *},\n};\n"),
        source("wire", "#[cfg(test)]\nuse crate::door::open;\n"),
    ];
    let levels = needs(&sources);
    let all = &levels[&[][..]];
    let of = |module: &str| all[module].iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    assert_eq!(of("door"), "error state wire");
    assert_eq!((of("error"), of("state"), of("wire")), (String::new(), "error wire".into(), String::new()));
    assert_eq!(circle(all), None);
    let inside = &levels[&["door".to_owned()][..]];
    assert_eq!(circle(inside), Some(vec!["key", "lock", "key"]), "a circle below the top level is found");
}

#[test]
fn a_path_by_a_re_export_is_one_to_where_the_item_is_declared() {
    let source = |place: &str, text: &str| ModuleSource {
        place: place.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        text: text.to_owned(),
    };
    let sources = [
        source("", "mod clock;\nmod house;\n\npub use clock::Clock;\npub use house::{door, lock::Bolt};\n"),
        source("clock", ""),
        source("house", "pub mod door;\npub mod lock;\npub mod wall;\n\npub use crate::clock::Clock as _;\n"),
        source("house/door", "use crate::Bolt;\nuse super::Clock;\n"),
        source("house/lock", "fn open() { crate::door::open() }\n"),
        source("house/wall", "use crate::Clock;\n"),
    ];
    let levels = needs(&sources);
    assert_eq!(circle(&levels[&["house".to_owned()][..]]), Some(vec!["door", "lock", "door"]));
    let top = &levels[&[][..]];
    assert_eq!(top["house"], BTreeSet::from(["clock".to_owned()]));
    assert_eq!(circle(top), None);
}

#[test]
fn a_circle_is_found_wherever_it_begins_and_named_in_its_order() {
    let needs = |pairs: &[(&str, &str)]| {
        let mut needs = Needs::new();
        for (module, other) in pairs {
            needs.entry((*other).to_owned()).or_default();
            needs.entry((*module).to_owned()).or_default().insert((*other).to_owned());
        }
        needs
    };
    assert_eq!(circle(&needs(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])), None);
    let round = needs(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("b", "e")]);
    assert_eq!(circle(&round), Some(vec!["b", "c", "d", "b"]));
    assert_eq!(circle(&needs(&[("b", "a"), ("a", "b")])), Some(vec!["a", "b", "a"]));
}
