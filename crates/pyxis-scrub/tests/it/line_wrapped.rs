//! Secrets with line breaks inside: PEM and base64 as other programs print them.

use std::sync::Arc;

use bytes::Bytes;
use pyxis_scrub::{Needles, Scrubber};

use crate::encodings::{base64_standard, each_hex};

const SECRET: &[u8] = b"sk_live_4eC39HqLyjWDarjtT1zdp7dc/With+Signs==";

/// A test key that is in no use: 300 bytes of base64 in lines of 64.
fn pem(width: usize, end: &str) -> String {
    format!(
        "-----BEGIN PRIVATE KEY-----{end}{}{end}-----END PRIVATE KEY-----{end}",
        fold(&body(), width, end)
    )
}

fn body() -> String {
    let bytes: Vec<u8> = (0..300u32).map(|i| (i * i * 31 % 251) as u8).collect();
    String::from_utf8(base64_standard(&bytes)).expect("text")
}

fn fold(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).expect("text")).collect();
    lines.join(end)
}

fn needles(secret: &[u8]) -> Arc<Needles> {
    Arc::new(Needles::new("cred", &[secret]))
}

/// Scrubbed output, which must be the same for whole and cut input.
fn scrubbed(needles: &Arc<Needles>, text: &str, step: usize) -> String {
    let whole = needles.scrub_text(text).into_owned();
    for cut in (0..=text.len()).step_by(step) {
        let mut scrubber = Scrubber::new(Arc::clone(needles));
        let mut out = Vec::new();
        for part in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
            scrubber.push(Bytes::copy_from_slice(part)).iter().for_each(|piece| out.extend_from_slice(piece));
        }
        scrubber.finish().iter().for_each(|piece| out.extend_from_slice(piece));
        assert_eq!(String::from_utf8_lossy(&out), whole, "cut at {cut}");
    }
    whole
}

/// True if no `len` consecutive characters of the key are left.
fn holds_nothing_of(text: &str, key: &str, len: usize) -> bool {
    key.as_bytes().windows(len).all(|run| memchr::memmem::find(text.as_bytes(), run).is_none())
}

#[test]
fn a_key_is_found_whatever_its_lines_look_like() {
    let needles = needles(pem(64, "\n").as_bytes());
    for width in [16, 48, 64, 70, 76, 400] {
        for end in ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "%0A", "&#10;", "\\n\\t"] {
            let out = scrubbed(&needles, &format!("{{\"key\": \"{}\"}}", pem(width, end)), 61);
            assert!(holds_nothing_of(&out, &body(), 4), "{width} {end:?}: {out}");
        }
    }
}

#[test]
fn every_line_of_a_key_is_found_alone_and_encoded() {
    // As in a service account's JSON file, as in a PEM file, and without line ends.
    for stored in [pem(64, "\\n"), pem(64, "\r\n"), pem(1000, "\n")] {
        let needles = needles(stored.as_bytes());
        for line in fold(&body(), 64, "\n").lines() {
            for text in [format!("> {line} <"), format!("[\"{line}\", 1]"), format!("7: {line}")] {
                let out = needles.scrub_text(&text).into_owned();
                assert!(out.contains("[REDACTED:cred]") && holds_nothing_of(&out, line, 4), "{out}");
            }
        }
        for end in ["\n", "\r\n", "\\n"] {
            let text = base64_standard(format!("{{\"private_key\": \"{}\"}}", pem(64, end)).as_bytes());
            let text = fold(std::str::from_utf8(&text).expect("text"), 76, "\n");
            let out = needles.scrub_text(&text).into_owned();
            assert!(out.contains("[REDACTED:cred]"), "{out}");
            let first = &base64_standard(&body().as_bytes()[..48])[..];
            assert!(memchr::memmem::find(out.as_bytes(), first).is_none(), "{out}");
        }
    }
}

#[test]
fn base64_in_lines_is_found_at_every_alignment() {
    let needles = needles(SECRET);
    for before in 0..90 {
        let blob = [&[b'.'; 90][..before], SECRET, b"tail of the answer"].concat();
        let encoded = String::from_utf8(base64_standard(&blob)).expect("text");
        let start = encoded[..before.div_ceil(3) * 4].len();
        for (width, end) in [(64, "\n"), (76, "\r\n"), (76, "\\n"), (76, "\n  ")] {
            let text = fold(&encoded, width, end);
            let out = needles.scrub_text(&text).into_owned();
            // At most three characters before a line break stay.
            let kept = &encoded[start..start + 52];
            assert!(out.contains("[REDACTED:cred]"), "{before} {width} {end:?}: {out}");
            assert!(holds_nothing_of(&out, kept, 8), "{before} {width}: {out}");
        }
    }
}

#[test]
fn wrapped_text_does_not_depend_on_the_cuts() {
    let needles = needles(SECRET);
    for text in [
        fold(&String::from_utf8(base64_standard(SECRET)).expect("text"), 13, "\r\n   "),
        fold(&each_hex(SECRET), 60, "\n"),
        fold(std::str::from_utf8(SECRET).expect("text"), 10, "\n"),
    ] {
        assert_eq!(scrubbed(&needles, &format!("a {text} b"), 1), "a [REDACTED:cred] b", "{text}");
    }
}

#[test]
fn a_line_that_ends_like_a_secret_begins_is_not_held_back() {
    let needles = needles(SECRET);
    let mut scrubber = Scrubber::new(Arc::clone(&needles));
    // The first character of every form, then the end of an event.
    for letter in "sacCM7".chars() {
        let event = format!("data: {letter}\n\n");
        let out: usize = scrubber.push(Bytes::from(event.clone())).iter().map(Bytes::len).sum();
        assert_eq!(out, event.len(), "{letter}");
    }
}

#[test]
fn words_that_only_look_wrapped_stay() {
    let needles = needles(SECRET);
    for text in ["sk_live_\n", "sk_\nlive_", "c2tf\nbGl2\n", "line\r\n  end\n"] {
        assert_eq!(needles.scrub_text(text), text);
    }
}

#[test]
fn the_replacement_can_say_what_stood_there() {
    let needles = Needles::in_words("stripe", &[SECRET]);
    let text = String::from_utf8(SECRET.to_vec()).expect("text");
    assert_eq!(needles.scrub_text(&text), "[contains the secret of `stripe`]");
    assert_eq!(needles.label(), "stripe");
}

fn key_of_lines(number: usize, lines: usize) -> String {
    let lines: Vec<String> = (0..lines).map(|line| format!("k{number:02}L{line:04}\n")).collect();
    let body = lines.concat();
    format!("-----BEGIN KEY-----\n{body}-----END KEY-----")
}

fn needles_of(secrets: &[String]) -> Needles {
    Needles::new("cred", &secrets.iter().map(String::as_bytes).collect::<Vec<_>>())
}

#[test]
fn of_many_keys_each_is_found_whole_and_line_by_line() {
    let keys: Vec<String> = (0..8).map(|number| key_of_lines(number, 128)).collect();
    let needles = needles_of(&keys);
    for key in [&keys[0], &keys[7]] {
        assert_eq!(needles.scrub_text(key), "[REDACTED:cred]");
        assert_eq!(needles.scrub_text(&each_hex(key.as_bytes())), "[REDACTED:cred]");
        for line in key.lines().skip(1).take(128) {
            assert_eq!(needles.scrub_text(&format!("> {line} <")), "> [REDACTED:cred] <");
        }
    }
}

#[test]
fn no_number_and_no_length_of_secrets_is_too_much() {
    let words: Vec<String> = (0..1000).map(|word| format!("word{word:05}")).collect();
    let needles = needles_of(&words);
    for text in [words[0].clone(), words[999].clone(), each_hex(words[999].as_bytes())] {
        assert_eq!(needles.scrub_text(&text), "[REDACTED:cred]");
    }
    let blocks: Vec<String> =
        (0..2000).map(|block| format!("-----BEGIN -----block{block:05}-----END -----")).collect();
    let needles = needles_of(&[blocks.concat()]);
    for block in ["block00000", "block01999"] {
        assert_eq!(needles.scrub_text(block), "[REDACTED:cred]");
    }
    let long = key_of_lines(0, 8000);
    let needles = needles_of(&std::array::from_fn::<_, 8, _>(|_| long.clone()));
    assert_eq!(needles.scrub_text("k00L0127"), "[REDACTED:cred]");
}
