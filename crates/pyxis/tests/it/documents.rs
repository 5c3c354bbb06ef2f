//! Documents that lead somewhere, and that list what the program has.
//!
//! `PX_UPDATE_DOCS=1 cargo nextest run -p pyxis documents` writes the generated pages again.

mod agent_clients;
mod audit_events;
mod command_line;
mod credential_kinds;
mod lists;
mod log_events;
mod markdown;
mod metrics;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::markdown::{headings, links};

/// Folders that hold nothing of ours.
const FOREIGN: &[&str] = &[".git", "node_modules", "pyxis-data"];

/// Endings of files whose comments may name a document.
const COMMENTED: &[&str] =
    &["rs", "mjs", "ts", "py", "sh", "json", "html", "sol", "move", "toml", "txt", "js"];

/// Folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Text of a file of the repository.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Files below `folder` with one of these endings, and their text.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            // Next to a manifest it is a folder of builds, which holds installed tools too; elsewhere it is a module.
            let is_build = name == "target" && folder.join("Cargo.toml").exists();
            if !FOREIGN.contains(&name.as_str()) && !is_build {
                found.extend(files(&path, endings));
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            found.push((path, text));
        }
    }
    found.sort();
    found
}

/// Fault of a link from `folder` to `target`, if there is one.
fn broken(folder: &Path, own: &str, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = folder.join(path);
    if !path.is_empty() && !file.exists() {
        return Some(format!("{target}: there is no such file"));
    }
    let anchor = anchor?;
    let text = if path.is_empty() { own.to_owned() } else { std::fs::read_to_string(&file).ok()? };
    let missing = !headings(&text).contains(anchor);
    missing.then(|| format!("{target}: there is no heading for #{anchor}"))
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let root = root();
    let mut wrong = Vec::new();
    for (path, text) in files(&root, &["md"]) {
        let folder = path.parent().unwrap();
        for target in links(&text).into_iter().filter(|target| !target.contains(':')) {
            let problem = broken(folder, &text, target);
            wrong.extend(problem.map(|problem| format!("{}: {problem}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Beginnings of names of documents.
const DOCUMENTS: &[&str] =
    &["docs/", "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "CHANGELOG.md"];

/// Names of documents in a text, such as `docs/reference/policy.md#evaluation`.
fn cited(text: &str) -> impl Iterator<Item = &str> {
    let starts = DOCUMENTS.iter().flat_map(|beginning| text.match_indices(beginning));
    starts.filter_map(|(start, _)| {
        let before = text[..start].chars().next_back();
        if before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_')) {
            return None;
        }
        let end = text[start..]
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '-' | '_' | '.' | '#'))
            .map_or(text.len(), |length| start + length);
        let name = text[start..end].trim_end_matches('.');
        name.contains(".md").then_some(name)
    })
}

#[test]
fn every_document_that_a_comment_names_exists_and_has_the_heading() {
    let root = root();
    let mut wrong = Vec::new();
    for (path, text) in files(&root, COMMENTED) {
        if path.ends_with("tests/it/documents.rs") {
            continue;
        }
        let problems = cited(&text).filter_map(|name| broken(&root, "", name));
        wrong.extend(problems.map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Beginnings of citations of texts that the repository does not have.
const OUTSIDE: &[&str] = &[
    "Spec 1",
    "Spec 2",
    "Spec 3",
    "Specification 1",
    "Specification 2",
    "Specification 3",
    "(decisions, ",
    "; decisions, ",
    "! Decisions, ",
    "! Decisions: ",
    "/ Decisions, ",
];

fn cites_outside(line: &str) -> bool {
    OUTSIDE.iter().any(|beginning| line.contains(beginning))
}

#[test]
fn no_comment_cites_a_text_outside_the_repository() {
    let mut wrong = Vec::new();
    for (path, text) in files(&root().join("crates"), &["rs", "json"]) {
        if path.ends_with("tests/it/documents.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let comment =
                line.trim_start().starts_with("//") || path.extension().is_some_and(|end| end == "json");
            if comment && cites_outside(line) {
                wrong.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Code spans of a line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[test]
fn every_source_that_the_architecture_names_exists_and_has_the_function() {
    let text = read("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let mut source = None;
        for span in spans(line) {
            if span.starts_with("pyxis") && span.contains("/src/") {
                let path = root().join("crates").join(span);
                source = std::fs::read_to_string(&path).ok();
                wrong.extend((!path.exists()).then(|| format!("{span}: there is no such file")));
            } else if let (Some(code), true) = (&source, line.starts_with("| ")) {
                let missing = !code.contains(&format!("fn {span}"));
                wrong.extend(missing.then(|| format!("{span}: not a function of the file before it")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn decisions_are_numbered_without_holes_and_their_titles_have_the_number() {
    let decisions = files(&root().join("docs/decisions"), &["md"]);
    let mut numbers = BTreeSet::new();
    for (path, text) in &decisions {
        let name = path.file_name().unwrap().to_str().unwrap();
        let number: usize = name.split('-').next().unwrap().parse().unwrap();
        assert!(text.starts_with(&format!("# {number}. ")), "{name} must begin with its number");
        numbers.insert(number);
    }
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), (1..=decisions.len()).collect::<Vec<_>>());
}
