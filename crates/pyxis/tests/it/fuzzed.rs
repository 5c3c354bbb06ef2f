//! The bodies of the fuzz targets of `pyxis-core`, run on every short combination of awkward pieces. A fuzzer searches
//! further but needs a nightly compiler; this runs on each change.

#[path = "../../../pyxis-core/fuzz/bodies/policy_reading.rs"]
mod policy_reading;
#[path = "../../../pyxis-core/fuzz/bodies/target_path.rs"]
mod target_path;

/// Pieces of a path that parsers disagree about.
const PATH: &[&str] = &[
    "/", "//", ".", "..", "a", "A", "*", "%2e", "%2F", "%252e", "%25", "%", "%zz", "%00", ";p=1", "\\", "é",
    "%C3%A9", "%C0%AF", "%c0%ae", "%FF", "%25u002e", "．", "%5C", "+", " ", "?q=/../", "#f", "~", "%7E", ":",
    "@",
];
/// Beginnings of a target.
const ORIGINS: &[&str] = &[
    "https://a.example",
    "http://a.example:80",
    "https://A.EXAMPLE:443",
    "https://a.example.",
    "https://u:p@a.example",
    "https://[::1]",
    "https://[2001:db8::1]:8443",
    "https://127.1",
    "https://0x7f.1",
    "https://ü.example",
    "//a.example",
    "HTTPS:/a.example",
    "https:a.example",
    "ftp://a.example",
    "",
];

/// Every sequence of up to `length` pieces.
fn sequences(pieces: &[&str], length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut longest = all.clone();
    for _ in 0..length {
        longest = longest
            .iter()
            .flat_map(|start| pieces.iter().map(move |piece| format!("{start}{piece}")))
            .collect();
        all.extend_from_slice(&longest);
    }
    all
}

#[test]
fn every_short_target_reads_the_same_twice() {
    let paths = sequences(PATH, 2);
    for origin in ORIGINS {
        for path in &paths {
            target_path::run(&format!("{origin}{path}"));
            target_path::run(&format!("{origin}/{path}"));
        }
    }
    for path in sequences(PATH, 3) {
        target_path::run(&format!("https://a.example/{path}"));
    }
}

#[test]
fn every_short_pattern_protects_what_it_would_let_pass() {
    let patterns =
        ["", "a", "a/", "a/a", "*", "*/a", "a/*", "A", "%2e", "%7E", "é", "a;p=1", ".", "..", "a*"];
    for path in sequences(PATH, 2) {
        for pattern in patterns {
            policy_reading::run((pattern, &path));
            policy_reading::run((pattern, &format!("a/{path}")));
        }
    }
}
