//! Searches for a secret in every form in which a careless program might have written it.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;

/// The secret in several encodings: raw, base64 and base64url at every alignment, hex, percent-encoded, JSON-escaped
/// and HTML-escaped.
pub(crate) fn encodings(secret: &str) -> Vec<String> {
    let hex = secret.bytes().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let percent = |keep: &str, upper: bool| -> String {
        let encode = |byte: u8| {
            let kept = byte.is_ascii_alphanumeric() || keep.contains(char::from(byte));
            match (kept, upper) {
                (true, _) => char::from(byte).to_string(),
                (false, true) => format!("%{byte:02X}"),
                (false, false) => format!("%{byte:02x}"),
            }
        };
        secret.bytes().map(encode).collect()
    };
    let json = serde_json::to_string(secret).expect("JSON");
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut all = vec![
        secret.to_owned(),
        hex.to_ascii_uppercase(),
        hex,
        percent("-._~", true),
        percent("-._~/", true),
        percent("-._~", false),
        json.trim_matches('"').to_owned(),
        html.replace('"', "&quot;"),
        html.replace('"', "&#34;"),
    ];
    for shift in 0..3 {
        let shifted = [&[0; 2][..shift], secret.as_bytes()].concat();
        all.push(inner(&STANDARD_NO_PAD.encode(&shifted), shift, secret.len()));
        all.push(inner(&URL_SAFE_NO_PAD.encode(&shifted), shift, secret.len()));
    }
    all
}

/// The characters that depend only on the secret, whatever its neighbors: six bits each.
fn inner(encoded: &str, shift: usize, length: usize) -> String {
    encoded[(8 * shift).div_ceil(6)..8 * (shift + length) / 6].to_owned()
}

/// Encodings of `secret` found in these bytes.
pub(crate) fn found(secret: &str, bytes: &[u8]) -> Vec<String> {
    let contains = |needle: &String| memmem::find(bytes, needle.as_bytes()).is_some();
    encodings(secret).into_iter().filter(contains).collect()
}

/// Panics if a file below `directory` contains the secret in any encoding. Returns the number of files searched.
#[track_caller]
pub(crate) fn search_files(directory: &Path, secret: &str) -> usize {
    let mut searched = 0;
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            searched += search_files(&path, secret);
        } else {
            let found = found(secret, &fs::read(&path).expect("a file"));
            assert!(found.is_empty(), "{} has {found:?}", path.display());
            searched += 1;
        }
    }
    searched
}

/// Like [`search_files`], for folders with large files and for secrets that no program has a reason to encode: reads
/// files as text, and searches for the raw, base64, hexadecimal and percent-encoded forms.
#[track_caller]
pub(crate) fn search_text_files(directory: &Path, secret: &str) {
    let encodings = encodings(secret);
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        if kind.is_dir() {
            search_text_files(&path, secret);
        } else if kind.is_file() {
            let bytes = fs::read(&path).expect("a file");
            let text = String::from_utf8_lossy(&bytes);
            let found = encodings.iter().find(|encoding| text.contains(encoding.as_str()));
            assert!(found.is_none(), "{} has {found:?}", path.display());
        }
    }
}
