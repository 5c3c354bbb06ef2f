//! Enforcement of the words of the house (docs/glossary.md, CONTRIBUTING.md): one name for one type, no private
//! metaphors, and comments in plain English.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Type names that any number of modules may use: each surface crate has its own.
const SHARED_NAMES: &[&str] = &["Error", "Result", "State", "Parts", "Inner", "Config"];

/// Modules that may use one public type name.
const MAX_MODULES: usize = 2;

/// Names of types that say nothing: participles, pronouns and metaphors where the field has a noun.
const BANNED_TYPES: &[&str] = &[
    "Arrival",
    "Asked",
    "Before",
    "Books",
    "Carried",
    "Door",
    "Explained",
    "Fair",
    "Find",
    "Found",
    "Front",
    "Gone",
    "GrantWish",
    "Heads",
    "Kept",
    "Ledger",
    "Loan",
    "Made",
    "Managing",
    "Moment",
    "Named",
    "Opened",
    "Passage",
    "Peers",
    "Place",
    "PlainScore",
    "Posted",
    "Poster",
    "Present",
    "Readable",
    "Remembered",
    "Reserved",
    "Returned",
    "Said",
    "Settled",
    "Shown",
    "Sign",
    "Standing",
    "Strangers",
    "Tightened",
    "Told",
    "Touched",
    "Trouble",
    "Unclear",
    "Wanted",
    "Which",
    "Written",
];

/// Names of modules that say nothing to a newcomer.
const BANNED_MODULES: &[&str] = &[
    "asked",
    "beside",
    "books",
    "earlier",
    "facts",
    "gone",
    "held",
    "joined",
    "judge",
    "lane",
    "many",
    "opened",
    "packed",
    "readable",
    "recurring",
    "signs",
    "standing",
    "strangers",
    "tightened",
    "together",
    "told",
    "touch",
    "visits",
];

/// Words of comments and documents that have a plainer one.
const BANNED_WORDS: &[&str] = &["anew", "whoever", "mend", "mends", "mended"];

/// Openings of a doc comment; a noun or a verb says the same.
const BANNED_OPENINGS: &[&str] = &["What", "Who", "Whose", "Whether", "Which", "How"];

/// Doc comments that may open so, in a hundred.
const OPENINGS_PERCENT: usize = 1;

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut modules: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in sources().into_iter().filter(|file| !file.to_string_lossy().contains("pyxis-testkit")) {
        for name in types(&read(&file)).filter(|declared| declared.public).map(|declared| declared.name) {
            modules.entry(name).or_default().insert(file.clone());
        }
    }
    let broken: Vec<_> = modules
        .iter()
        .filter(|(name, files)| files.len() > MAX_MODULES && !SHARED_NAMES.contains(&name.as_str()))
        .collect();
    assert!(broken.is_empty(), "a name that says what it is of: {broken:#?}");
}

#[test]
fn types_and_modules_have_names_that_the_field_knows() {
    let mut broken = Vec::new();
    for file in sources() {
        let text = read(&file);
        let names = types(&text).map(|declared| declared.name);
        broken.extend(
            names.filter(|name| BANNED_TYPES.contains(&name.as_str())).map(|name| (file.clone(), name)),
        );
        let module = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if BANNED_MODULES.contains(&module) {
            broken.push((file.clone(), module.to_owned()));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let (mut all, mut broken) = (0, Vec::new());
    for file in sources() {
        for (number, opening) in openings(&read(&file)) {
            all += 1;
            if opening
                .split(|c: char| !c.is_alphabetic())
                .next()
                .is_some_and(|word| BANNED_OPENINGS.contains(&word))
            {
                broken.push(format!("{}:{number}: {opening}", file.display()));
            }
        }
    }
    let allowed = all * OPENINGS_PERCENT / 100;
    assert!(broken.len() <= allowed, "{} of {all}, at most {allowed}:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn comments_and_documents_use_plain_words() {
    let mut broken = Vec::new();
    let documents = files(&root(), "md").into_iter();
    for file in sources().into_iter().chain(documents) {
        let is_code = file.extension().is_some_and(|extension| extension == "rs");
        for (number, line) in read(&file).lines().enumerate() {
            let prose = if is_code { line.trim_start().strip_prefix("//") } else { Some(line) };
            let words = prose.unwrap_or_default().split(|c: char| !c.is_alphabetic()).map(str::to_lowercase);
            for word in words.filter(|word| BANNED_WORDS.contains(&word.as_str())) {
                broken.push(format!("{}:{}: {word}", file.display(), number + 1));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A type that a source declares.
struct Declared {
    name: String,
    public: bool,
}

/// The types that a source declares outside of its tests.
fn types(text: &str) -> impl Iterator<Item = Declared> + '_ {
    let code = text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |(code, _)| code);
    code.lines().filter_map(|line| {
        let line = line.trim_start();
        let public = line.starts_with("pub");
        let rest = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| rest.strip_prefix(word))?;
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        (!name.is_empty()).then(|| Declared { name: name.to_owned(), public })
    })
}

/// The first line of each doc comment, with its number.
fn openings(text: &str) -> Vec<(usize, &str)> {
    let mut openings = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(opening) = doc.filter(|_| !inside) {
            openings.push((number + 1, opening.trim()));
        }
        inside = doc.is_some();
    }
    openings
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/pyxis lies in the repository")
        .to_owned()
}

/// Every source of the crates, without their tests.
fn sources() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).expect("the crates");
    let found: Vec<_> =
        crates.flat_map(|entry| files(&entry.expect("a folder").path().join("src"), "rs")).collect();
    assert!(found.len() > 100, "found the sources");
    found
}

/// Every file below `directory` with this extension, but what builds and installations leave.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("a folder can be listed").path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name) {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a source file is text")
}

#[test]
fn declarations_and_openings_are_found() {
    let text = "/// Whether.\n/// And more.\npub(crate) struct Shown<T>(T);\n\nenum Kind {}\n\n#[cfg(test)]\nmod tests {\n    struct Told;\n}\n";
    let found: Vec<_> = types(text).map(|declared| (declared.name, declared.public)).collect();
    assert_eq!(found, [("Shown".to_owned(), true), ("Kind".to_owned(), false)]);
    assert_eq!(openings(text), [(1, "Whether.")]);
}
