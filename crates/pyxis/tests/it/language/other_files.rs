//! Files that people read besides the crates' sources, templates and documents: tests, clients, examples, scripts and
//! packages. Their comments, messages and names are checked as one text, in whatever language they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::root;

/// Folders with such files.
const FOLDERS: &[&str] = &["bench", "ci", "crates", "e2e", "examples", "packaging", "sdk"];

/// Extensions of files that people wrote. Migrations stay as they were applied.
const EXTENSIONS: &[&str] = &["js", "lua", "mjs", "move", "py", "rs", "sh", "sol", "ts", "tsx", "yaml"];

/// Folders of data, of builds and of installed tools.
const SKIPPED_FOLDERS: &[&str] =
    &["artifacts", "build", "corpus", "data", "dist", "fixtures", "node_modules", "out", "snapshots"];

/// Generated texts, texts in several languages, and the lists of what is banned.
const SKIPPED_FILES: &[&str] = &[
    "crates/pyxis-scoring/widget/messages.js",
    "crates/pyxis/tests/it/language.rs",
    "crates/pyxis/tests/it/language",
    "sdk/typescript/src/openapi.ts",
];

/// Names of libraries and words of protocols.
const FOREIGN_NAMES: &[&str] =
    &["is_cancelled()", "context.cancelled()", "json!(\"cancelled\")", "\"notifications/cancelled\""];

/// Every such file.
pub(super) fn other_files() -> Vec<PathBuf> {
    let root = root();
    let mut found = Vec::new();
    for folder in FOLDERS {
        collect(&root, &root.join(folder), &mut found);
    }
    assert!(found.len() > 500, "found the files: {}", found.len());
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("a folder can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let own = path.strip_prefix(root).unwrap_or(&path);
        if name.starts_with('.') || SKIPPED_FILES.iter().any(|skipped| own == Path::new(skipped)) {
            continue;
        }
        if path.is_dir() {
            let is_build = name == "target" && folder.join("Cargo.toml").exists();
            if !is_build && !SKIPPED_FOLDERS.contains(&name) && !is_source_folder(own) {
                collect(root, &path, found);
            }
        } else if path.extension().is_none_or(|found| EXTENSIONS.iter().any(|one| found == *one)) {
            found.push(path);
        }
    }
}

/// True for `crates/NAME/src`, whose comments and messages other checks read.
fn is_source_folder(own: &Path) -> bool {
    let parts: Vec<_> = own.iter().collect();
    matches!(parts[..], [first, _, last] if first == "crates" && last == "src")
}

/// Banned words and phrases by their first word.
pub(super) struct Phrases<'p>(HashMap<&'p str, Vec<Vec<&'p str>>>);

impl<'p> Phrases<'p> {
    pub(super) fn new(phrases: impl Iterator<Item = &'p str>) -> Self {
        let mut by_first: HashMap<&str, Vec<Vec<&str>>> = HashMap::new();
        for phrase in phrases {
            let words: Vec<_> = phrase.split(' ').collect();
            by_first.entry(words[0]).or_default().push(words);
        }
        Self(by_first)
    }

    /// Lines of a text with a banned phrase, each with the phrase.
    pub(super) fn find(&self, text: &str) -> Vec<(usize, String)> {
        let words = split_words(text);
        let mut found = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let candidates = self.0.get(word.lower().as_str()).into_iter().flatten();
            for phrase in candidates.filter(|phrase| follows(phrase, &words[at..])) {
                let line = text[..word.start].matches('\n').count();
                let is_foreign = |line: &str| FOREIGN_NAMES.iter().any(|name| line.contains(name));
                if !text.lines().nth(line).is_some_and(is_foreign) {
                    found.push((line + 1, phrase.join(" ")));
                }
            }
        }
        found
    }
}

/// True if the words are those of the phrase, without punctuation between them.
fn follows(phrase: &[&str], words: &[LetterRun<'_>]) -> bool {
    phrase.len() <= words.len()
        && phrase.iter().zip(words).all(|(one, word)| word.lower() == *one)
        && words[1..phrase.len()].iter().all(|word| word.is_joined)
}

/// A run of letters. `camelCase` and `snake_case` are two words each.
struct LetterRun<'t> {
    start: usize,
    text: &'t str,
    /// True if at most spaces, underscores, or a line end with marks of a comment are before it.
    is_joined: bool,
}

impl LetterRun<'_> {
    fn lower(&self) -> String {
        self.text.to_ascii_lowercase()
    }
}

fn split_words(text: &str) -> Vec<LetterRun<'_>> {
    let bytes = text.as_bytes();
    let (mut found, mut end) = (Vec::new(), 0);
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphabetic() {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < bytes.len()
            && bytes[at].is_ascii_alphabetic()
            && !(bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase())
        {
            at += 1;
        }
        found.push(LetterRun { start, text: &text[start..at], is_joined: is_gap(&bytes[end..start]) });
        end = at;
    }
    found
}

/// True for bytes that do not separate two words of a sentence or of a name.
fn is_gap(between: &[u8]) -> bool {
    let marks: &[u8] = if between.contains(&b'\n') { b" \n_/#*!" } else { b" _" };
    between.iter().all(|byte| marks.contains(byte))
}

/// Openings of doc comments with their line: `/**` and `///` of most languages, `"""` of Python.
pub(super) fn openings(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut is_inside, mut is_opened, mut is_python) = (false, false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let ends_python = is_python && line.starts_with("\"\"\"");
        is_python ^= line.matches("\"\"\"").count() % 2 == 1;
        if ends_python {
            continue;
        }
        let is_lines = line.starts_with("///") || line.starts_with("//!");
        let opening = ["/**", "\"\"\"", "///", "//!"].iter().find_map(|mark| line.strip_prefix(mark));
        // The text of a block can begin on its second line.
        let opening = opening.or_else(|| is_opened.then(|| line.trim_start_matches(['*', ' '])));
        is_opened = false;
        if let Some(opening) = opening.filter(|_| !(is_lines && is_inside)) {
            is_opened = opening.trim().is_empty() && !is_lines;
            if !is_opened {
                found.push((number + 1, opening.trim()));
            }
        }
        is_inside = is_lines;
    }
    found
}

#[test]
fn phrases_are_found_in_comments_names_and_messages() {
    let phrases = Phrases::new(["anew", "by itself"].into_iter());
    let found = |text: &str| phrases.find(text).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    assert_eq!(found("// It goes\nfn done_anew() {} // By\n// itself."), [2, 2]);
    assert_eq!(found("const byItself = \"Anew\";"), [1, 1]);
    assert_eq!(found("by(itself); renewed(\"by\", \"itself\")"), [0; 0]);
    assert_eq!(found("if task.is_cancelled() {}"), [0; 0]);
    let text = "/// One\n/// two.\n/**\n * Three. */\n  \"\"\"Four.\"\"\"\n";
    assert_eq!(openings(text), [(1, "One"), (4, "Three. */"), (5, "Four.\"\"\"")]);
}
