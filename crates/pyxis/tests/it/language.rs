//! Enforcement of the words of the house (docs/glossary.md, CONTRIBUTING.md): one name for one type, no private
//! metaphors, and prose in plain English.

mod names;
mod other_files;
mod prose;
mod repeated_names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use names::{BANNED_FUNCTIONS, BANNED_MODULES, BANNED_TEST_MODULES, BANNED_TYPES, BANNED_VALUES};
use other_files::{Phrases, other_files};
use prose::Block;

/// Type names that any number of modules may use: each surface crate has its own.
const SHARED_NAMES: &[&str] = &["Error", "Result", "State", "Config"];

/// Modules that may use one public type name.
const MAX_MODULES: usize = 2;

/// Words that have a plainer or an American one.
const BANNED_WORDS: &[&str] = &[
    "anew",
    "authorise",
    "behaviour",
    "beside",
    "cancelled",
    "cancelling",
    "centre",
    "colour",
    "colours",
    "dialled",
    "favour",
    "honour",
    "initialise",
    "mend",
    "mended",
    "mends",
    "neighbour",
    "neighbours",
    "normalise",
    "normalised",
    "recognise",
    "recognised",
    "serialise",
    "serialised",
    "whoever",
];

/// Phrases that translate word by word from another language, and their native form.
const BANNED_PHRASES: &[(&str, &str)] = &[
    ("believe", "trust"),
    ("believed", "trusted"),
    ("believes", "trusts"),
    ("bring in", "import"),
    ("brings in", "imports"),
    ("brought in", "imported"),
    ("by itself", "automatically"),
    ("in vain", "without effect"),
    ("none was named for", "unless configured"),
    ("of before", "older"),
    ("of its that", "its"),
    ("of theirs that", "their"),
    ("take in", "import"),
    ("taken in", "imported"),
];

/// Words in one sentence.
const MAX_WORDS: usize = 25;

/// Openings of a doc comment; a noun or a verb says the same.
const BANNED_OPENINGS: &[&str] = &["What", "Who", "Whose", "Whether", "Which", "How"];

/// Doc comments that may repeat a name, in a thousand. Some are descriptions in the API document or help texts.
const REPEATED_PERMILLE: usize = 8;

/// Doc comments that may open so, in a hundred.
const OPENINGS_PERCENT: usize = 1;

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let mut modules: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in sources() {
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
fn types_modules_and_functions_have_names_that_the_field_knows() {
    let mut broken = Vec::new();
    let product = sources().into_iter().map(|file| (file, false));
    for (file, is_other) in product.chain(other_sources().into_iter().map(|file| (file, true))) {
        let text = read(&file);
        let types = types(&text).map(|declared| declared.name);
        let functions = functions(&text).map(str::to_owned);
        let is_module =
            |name: &str| BANNED_MODULES.contains(&name) || (is_other && BANNED_TEST_MODULES.contains(&name));
        let found = (types.filter(|name| BANNED_TYPES.contains(&name.as_str())))
            .chain(functions.filter(|name| BANNED_FUNCTIONS.contains(&name.as_str())))
            .chain(module(&file).filter(|name| is_module(name)));
        broken.extend(found.map(|name| format!("{}: {name}", file.display())));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn variables_fields_and_constants_have_names_that_the_field_knows() {
    let mut broken = Vec::new();
    for file in sources().into_iter().filter(|file| !is_test(file)) {
        let text = read(&file);
        let found = names::values(&text).into_iter().filter(|(_, name)| BANNED_VALUES.contains(name));
        broken.extend(found.map(|(number, name)| format!("{}:{number}: {name}", file.display())));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let (mut all, mut broken) = (0, Vec::new());
    for file in sources().into_iter().chain(other_files()) {
        for (number, opening) in other_files::openings(&read(&file)) {
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
fn doc_comments_say_more_than_the_name_of_their_item() {
    let (mut all, mut broken) = (0, Vec::new());
    for file in sources() {
        let text = read(&file);
        let comments = repeated_names::one_line_comments(&text);
        all += comments.len();
        let repeated = comments.iter().filter(|(_, _, is_repetition)| *is_repetition);
        broken.extend(repeated.map(|(number, comment, _)| format!("{}:{number}: {comment}", file.display())));
    }
    let allowed = all * REPEATED_PERMILLE / 1000;
    assert!(broken.len() <= allowed, "{} of {all}, at most {allowed}:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn comments_and_documents_use_plain_words() {
    let mut broken = Vec::new();
    for Text { file, blocks, .. } in texts() {
        for block in blocks {
            let words: Vec<_> =
                block.text.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase).collect();
            let plain = format!(" {} ", words.join(" "));
            let words = BANNED_WORDS.iter().map(|word| (*word, ""));
            for (phrase, better) in words.chain(BANNED_PHRASES.iter().copied()) {
                if plain.contains(&format!(" {phrase} ")) {
                    broken.push(format!("{}:{}: {phrase} -> {better}", file.display(), block.line));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn tests_clients_examples_and_scripts_use_plain_words() {
    let phrases =
        Phrases::new(BANNED_WORDS.iter().copied().chain(BANNED_PHRASES.iter().map(|(phrase, _)| *phrase)));
    let mut broken = Vec::new();
    for file in other_files() {
        let found = phrases.find(&read(&file));
        broken.extend(found.into_iter().map(|(line, phrase)| format!("{}:{line}: {phrase}", file.display())));
    }
    assert!(broken.is_empty(), "{} lines:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn a_sentence_has_at_most_25_words() {
    let mut broken = Vec::new();
    for Text { kind, file, blocks } in texts() {
        for block in blocks {
            for sentence in prose::sentences(&block.text, kind.ends()) {
                let words = prose::count_words(sentence);
                if words > MAX_WORDS {
                    broken.push(format!("{}:{}: {words}: {sentence}", file.display(), block.line));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Comment,
    Message,
    Template,
    Document,
}

impl Kind {
    const fn ends(self) -> &'static [char] {
        match self {
            Self::Message => prose::MESSAGE_ENDS,
            Self::Comment | Self::Template | Self::Document => prose::ENDS,
        }
    }
}

/// The prose of one file.
struct Text {
    kind: Kind,
    file: PathBuf,
    blocks: Vec<Block>,
}

/// All prose of the repository, but that of the tests.
fn texts() -> Vec<Text> {
    let mut texts = Vec::new();
    for file in sources() {
        let source = read(&file);
        texts.push(Text { kind: Kind::Comment, file: file.clone(), blocks: prose::comments(&source) });
        if !is_test(&file) {
            texts.push(Text { kind: Kind::Message, file, blocks: prose::messages(&source) });
        }
    }
    let templates = files(&root().join("crates/pyxis-dashboard/templates"), "html");
    assert!(templates.len() > 20, "found the templates");
    for file in templates {
        let blocks = prose::template(&read(&file));
        texts.push(Text { kind: Kind::Template, file, blocks });
    }
    for file in files(&root(), "md") {
        let blocks = prose::document(&read(&file));
        texts.push(Text { kind: Kind::Document, file, blocks });
    }
    texts
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

/// Names of the functions in a source.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split("fn ").skip(1);
    names.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
}

/// True for unit tests in a file of their own, and for the crates that only tests use: their texts are data.
fn is_test(file: &Path) -> bool {
    file.iter()
        .any(|part| ["tests", "tests.rs", "pyxis-testkit", "pyxis-testbed"].iter().any(|name| part == *name))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/pyxis lies in the repository")
        .to_owned()
}

/// Name of a file's module.
fn module(file: &Path) -> Option<String> {
    Some(file.file_stem()?.to_string_lossy().into_owned())
}

/// Every Rust source outside of the crates' `src`: tests, examples, benchmarks and the Rust SDK.
fn other_sources() -> Vec<PathBuf> {
    let crates = sources_in(&["tests", "examples", "benches"]);
    let others = ["bench", "sdk/rust", "examples/rust"].map(|folder| files(&root().join(folder), "rs"));
    assert!(!crates.is_empty() && others.iter().all(|found| !found.is_empty()), "found the sources");
    crates.into_iter().chain(others.into_iter().flatten()).collect()
}

/// Every source of the crates, without their tests.
fn sources() -> Vec<PathBuf> {
    let found = sources_in(&["src"]);
    assert!(found.len() > 100, "found the sources");
    found
}

/// Every source in these folders of the crates.
fn sources_in(folders: &[&str]) -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).expect("the crates");
    let crates = crates.map(|entry| entry.expect("a folder").path());
    crates.flat_map(|path| folders.iter().flat_map(move |folder| files(&path.join(folder), "rs"))).collect()
}

/// Every file below `directory` with this extension, but what builds and installations leave.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("a folder can be listed").path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Next to a manifest it is a folder of builds; elsewhere it is a module.
        let is_build = name == "target" && directory.join("Cargo.toml").exists();
        if path.is_dir() && !name.starts_with('.') && !is_build && name != "node_modules" {
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
fn declarations_are_found() {
    let text = "/// A.\npub(crate) struct Shown<T>(T);\n\nenum Kind {}\n\n#[cfg(test)]\nmod tests {\n    struct Told;\n}\n";
    let found: Vec<_> = types(text).map(|declared| (declared.name, declared.public)).collect();
    assert_eq!(found, [("Shown".to_owned(), true), ("Kind".to_owned(), false)]);
    let text = "async fn open(site: &Site) {}\n\nimpl Site {\n    pub(crate) fn close<T>(&self) {}\n}\n";
    assert_eq!(functions(text).collect::<Vec<_>>(), ["open", "close"]);
}
