use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use pyxis_scrub::{Needles, Scrubber};

use crate::encodings::{ENCODINGS, base64_standard, json_all_escaped};

/// Secrets with every kind of unusual character.
const SECRETS: [&str; 8] = [
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "p@ss \"w\\o/r'd\" <&>+%2F=;",
    "a+b/c+d/e==~",
    "line\nbreak\tand\u{1}control",
    "Zürich-Straße-😀-№5",
    "%25%41&amp;\\u0041\\\\x",
    "\\\\\\\\\"\"\"\"",
    "four",
];

fn scrub(needles: &Arc<Needles>, chunks: &[&[u8]]) -> (Vec<u8>, u64) {
    let mut scrubber = Scrubber::new(needles.clone());
    let mut out = Vec::new();
    for chunk in chunks {
        let pieces = scrubber.push(Bytes::copy_from_slice(chunk));
        assert!(pieces.iter().all(|piece| !piece.is_empty()));
        pieces.iter().for_each(|piece| out.extend_from_slice(piece));
    }
    scrubber.finish().iter().for_each(|piece| out.extend_from_slice(piece));
    (out, scrubber.hits())
}

fn needles(secrets: &[&[u8]]) -> Arc<Needles> {
    Arc::new(Needles::new("cred", secrets))
}

fn show(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[test]
fn every_form_of_every_secret_is_replaced_at_every_cut() {
    for secret in SECRETS {
        let needles = needles(&[secret.as_bytes()]);
        for (name, encode) in ENCODINGS {
            let encoded = encode(secret.as_bytes());
            let text = [b"{\"echo\": \"", encoded.as_slice(), b"\", \"next\": 1}"].concat();
            for cut in 0..=text.len() {
                let (out, hits) = scrub(&needles, &[&text[..cut], &text[cut..]]);
                assert_eq!(
                    show(&out),
                    "{\"echo\": \"[REDACTED:cred]\", \"next\": 1}",
                    "{name} of {secret:?} cut at {cut}"
                );
                assert_eq!(hits, 1);
            }
        }
    }
}

#[test]
fn fully_escaped_json_is_replaced_in_either_case() {
    for secret in SECRETS {
        let needles = needles(&[secret.as_bytes()]);
        for upper in [false, true] {
            let text = format!("<{}>", json_all_escaped(secret, upper));
            assert_eq!(needles.scrub_text(&text), "<[REDACTED:cred]>", "{text}");
        }
    }
}

#[test]
fn each_character_may_be_escaped_in_its_own_way() {
    let needles = needles(&[b"a/b\"c d&e"]);
    for text in [
        "a%2fb%22c+d%26e",
        "a\\/b\\\"c d&amp;e",
        "%61/b&quot;c%20d&e",
        "a%2Fb\\u0022c&#32;d\\x26e",
        "a%252Fb%2522c%2520d%2526e",
        "a\\\\\\/b\\\\\\\"c d\\\\u0026e",
        "a&amp;sol;b&amp;quot;c d&amp;amp;e",
        "a&#x0002f;b&#34c d&ampe",
    ] {
        assert_eq!(needles.scrub_text(text), "[REDACTED:cred]", "{text}");
    }
}

#[test]
fn base64_is_found_at_every_alignment_and_escaped() {
    let secret = b"s3cr3t?>~subjects+more";
    let needles = needles(&[secret]);
    for before in 0..7 {
        for after in 0..4 {
            let blob = [&b"user:pw"[..before], secret, &b"tail"[..after]].concat();
            let text = base64_standard(&blob);
            let escaped = show(&text).replace('/', "\\/").replace('+', "%2b");
            for text in [show(&text).into_owned(), escaped] {
                let out = needles.scrub_text(&text);
                assert!(out.contains("[REDACTED:cred]"), "{text} became {out}");
                // The characters at both ends belong to the neighbors, except for one each.
                assert!(out.len() <= "[REDACTED:cred]".len() + 16, "{text} became {out}");
            }
        }
    }
}

#[test]
fn secrets_that_are_not_text_are_found() {
    let secret = [0xff, 0xfe, b'"', 0x80, 0x00, b'%', b'\\', 0xc3];
    let needles = needles(&[&secret]);
    for (name, encode) in ENCODINGS
        .iter()
        .filter(|(name, _)| ["raw", "hex", "base64", "percent"].iter().any(|kind| name.starts_with(kind)))
    {
        let out = needles.scrub_bytes(&encode(&secret)).into_owned();
        assert_eq!(show(&out), "[REDACTED:cred]", "{name}");
    }
    // Latin-1 read as code points.
    let latin1: String = secret.iter().map(|byte| char::from(*byte)).collect();
    assert_eq!(needles.scrub_text(&json_all_escaped(&latin1, true)), "[REDACTED:cred]");
}

#[test]
fn scrubbed_text_stays_text_when_a_secret_matches_inside_a_character() {
    let needles = needles(&[&[0xa9]]);
    assert_eq!(needles.scrub_text("caf\u{e9} au lait"), "caf[REDACTED:cred] au lait");
}

#[test]
fn overlapping_and_touching_secrets_become_one_replacement() {
    let needles = needles(&[b"abcdef", b"defghi", b"ghi", b"xyz"]);
    for (text, expected, expected_hits) in [
        ("-abcdefghi-", "-[REDACTED:cred]-", 1),
        ("-abcdefxyz-", "-[REDACTED:cred]-", 1),
        ("-abcdef xyz-", "-[REDACTED:cred] [REDACTED:cred]-", 2),
        ("-defghi-", "-[REDACTED:cred]-", 1),
        ("-defgh-", "-defgh-", 0),
        ("xyzxyzxyz", "[REDACTED:cred]", 1),
    ] {
        for cut in 0..=text.len() {
            for second in cut..=text.len() {
                let chunks = [&text[..cut], &text[cut..second], &text[second..]].map(str::as_bytes);
                let (out, hits) = scrub(&needles, &chunks);
                assert_eq!((show(&out).as_ref(), hits), (expected, expected_hits), "{cut} {second}");
            }
        }
    }
}

#[test]
fn what_joins_around_a_replacement_is_no_secret() {
    // Removing "bb" from "abbc" must not join "a" and "c"; the tag itself must not complete a secret either.
    for secrets in [
        &[&b"bb"[..], b"ac"][..],
        &[b"bb", b"a["],
        &[b"bb", b"]c"],
        &[b"bb", b"REDACTED", b"cred"],
        &[b"bb", b"a[REDACTED:cred]c"],
        &[b"bb", b"[", b"(", b"{", b"<"],
    ] {
        let needles = needles(secrets);
        let (out, hits) = scrub(&needles, &[b"abbc abbc"]);
        assert_eq!(hits, 2);
        assert!(!needles.found_in(&out), "{secrets:?}: {}", show(&out));
    }
}

#[test]
fn short_secrets_are_found_raw_but_not_encoded() {
    let needles = needles(&[b"xyz"]);
    assert_eq!(needles.scrub_text("wxyz"), "w[REDACTED:cred]");
    assert_eq!(needles.scrub_text("w%78yz"), "w[REDACTED:cred]");
    assert_eq!(needles.scrub_text("eHl6 78797a"), "eHl6 78797a");
}

#[test]
fn text_without_a_secret_passes_without_a_copy() {
    let needles = needles(&[b"hunter2-hunter2"]);
    let chunk = Bytes::from_static(b"data: {\"id\": 1, \"text\": \"a \\\"quote\\\" & more\"}\n\n");
    let mut scrubber = Scrubber::new(needles.clone());
    let pieces = scrubber.push(chunk.clone());
    assert_eq!(pieces.len(), 1, "all of it goes out at once");
    assert_eq!((pieces[0].as_ptr(), pieces[0].len()), (chunk.as_ptr(), chunk.len()));
    assert!(scrubber.finish().is_empty());
    assert!(matches!(needles.scrub_text("harmless"), Cow::Borrowed(_)));
    assert!(matches!(needles.scrub_bytes(b"harmless"), Cow::Borrowed(_)));
}

#[test]
fn only_a_tail_that_may_start_a_secret_waits_for_the_next_chunk() {
    let mut scrubber = Scrubber::new(needles(&[b"hunter2-hunter2"]));
    let mut push = |text: &'static str| {
        let pieces = scrubber.push(Bytes::from_static(text.as_bytes()));
        pieces.iter().map(|piece| show(piece).into_owned()).collect::<String>()
    };
    assert_eq!(push("data: one\n\n"), "data: one\n\n");
    assert_eq!(push("data: hun"), "data: ");
    assert_eq!(push("ger\n\n"), "hunger\n\n");
    assert_eq!(push("data: hunter2"), "data: ");
    assert_eq!(push("-hunter2!"), "[REDACTED:cred]!");
    assert_eq!(push("\\u002"), "");
    assert_eq!(push("1"), "\\u0021");
}

#[test]
fn without_secrets_everything_passes() {
    let needles = needles(&[b""]);
    assert!(needles.is_empty());
    let (out, hits) = scrub(&needles, &[b"any", b"thing"]);
    assert_eq!((out.as_slice(), hits), (&b"anything"[..], 0));
}

#[test]
fn a_secret_made_of_escape_characters_cannot_stall_the_scan() {
    let secret = [b'\\'; 60];
    let needles = needles(&[&secret]);
    let text = vec![b'\\'; 4_000];
    let (out, hits) = scrub(&needles, &[&text]);
    assert_eq!((show(&out).as_ref(), hits), ("[REDACTED:cred]", 1));
}

#[test]
fn a_long_stream_is_scrubbed_with_little_held_back() {
    let needles = needles(&[b"hunter2-hunter2"]);
    let mut scrubber = Scrubber::new(needles);
    let mut chunk = vec![b'.'; 64 * 1024];
    chunk[65_530..].copy_from_slice(b"hunter");
    chunk[..9].copy_from_slice(b"2-hunter2");
    let chunk = Bytes::from(chunk);
    let mut sent = 0;
    for round in 1..=512usize {
        let out: usize = scrubber.push(chunk.clone()).iter().map(Bytes::len).sum();
        sent += out;
        // Six bytes are held back; 15 received bytes became the tag's 15.
        assert_eq!(sent, round * chunk.len() - 6);
    }
    assert_eq!(scrubber.hits(), 511);
}

#[test]
fn needles_show_nothing_of_the_secrets_in_debug() {
    let debug = format!("{:?}", needles(&[b"hunter2-hunter2"]));
    assert_eq!(debug, "Needles { label: \"cred\", .. }");
}

#[test]
fn scrubbers_and_decoders_move_between_threads() {
    fn assert_send<T: Send>() {}
    fn assert_sync<T: Sync>() {}
    assert_send::<Scrubber>();
    assert_send::<pyxis_scrub::Decoder>();
    assert_sync::<Needles>();
}
