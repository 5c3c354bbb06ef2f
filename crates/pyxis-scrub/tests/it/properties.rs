use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use pyxis_scrub::{Needles, Scrubber};

use crate::encodings::ENCODINGS;

/// Relevant bytes: escape characters, their digits, brackets of the replacement.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        4 => prop::sample::select(b"%\\&+ab/\"25uxn#;[]E\n ".to_vec()),
        1 => any::<u8>(),
    ]
}

/// Folds the bytes into lines of `width`.
fn fold(bytes: &[u8], width: usize) -> Vec<u8> {
    bytes.chunks(width).collect::<Vec<_>>().join(&b"\r\n  "[..])
}

/// Text that contains secrets in any encoding.
fn text(secrets: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let wrapped = secrets.clone();
    let piece = prop_oneof![
        vec(byte(), 0..12),
        (prop::sample::select(secrets), 0..ENCODINGS.len()).prop_map(|(secret, encoding)| ENCODINGS
            [encoding]
            .1(
            &secret
        )),
        (prop::sample::select(wrapped), 0..ENCODINGS.len(), 1usize..20)
            .prop_map(|(secret, encoding, width)| fold(&ENCODINGS[encoding].1(&secret), width)),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn secrets_and_text() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<u8>)> {
    vec(vec(byte(), 1..14), 1..4).prop_flat_map(|secrets| (Just(secrets.clone()), text(secrets)))
}

fn build(secrets: &[Vec<u8>]) -> Arc<Needles> {
    let secrets: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
    Arc::new(Needles::new("cred", &secrets))
}

fn scrub(needles: &Arc<Needles>, text: &[u8], mut cuts: Vec<usize>) -> (Vec<u8>, u64) {
    cuts.sort_unstable();
    cuts.push(text.len());
    let mut scrubber = Scrubber::new(needles.clone());
    let mut out = Vec::new();
    let mut start = 0;
    for cut in cuts {
        let cut = cut.min(text.len());
        for piece in scrubber.push(Bytes::copy_from_slice(&text[start..cut])) {
            out.extend_from_slice(&piece);
        }
        start = cut;
    }
    scrubber.finish().iter().for_each(|piece| out.extend_from_slice(piece));
    (out, scrubber.hits())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..Default::default() })]

    #[test]
    fn output_shows_no_secret_in_any_form((secrets, text) in secrets_and_text()) {
        let needles = build(&secrets);
        let (out, _) = scrub(&needles, &text, Vec::new());
        prop_assert!(!needles.found_in(&out), "{:?}", String::from_utf8_lossy(&out));
        for secret in &secrets {
            prop_assert!(memchr::memmem::find(&out, secret).is_none());
        }
    }

    #[test]
    fn output_does_not_depend_on_the_cuts(
        (secrets, text) in secrets_and_text(),
        cuts in vec(0usize..120, 0..6),
    ) {
        let needles = build(&secrets);
        let whole = scrub(&needles, &text, Vec::new());
        prop_assert_eq!(&whole.0, &needles.scrub_bytes(&text).into_owned());
        prop_assert_eq!(&whole, &scrub(&needles, &text, cuts));
        prop_assert_eq!(&whole, &scrub(&needles, &text, (0..text.len()).collect()));
    }

    #[test]
    fn text_without_the_secret_passes_unchanged(text in vec(prop::sample::select(b"%\\&+ab/\"25uxn#;[] \n".to_vec()), 0..200)) {
        // No reading of these characters yields a 'Q', and every encoding of the secret needs a letter that is missing
        // here.
        let needles = build(&[b"QQQQ-WWWW-QQQQ".to_vec()]);
        let (out, hits) = scrub(&needles, &text, vec![text.len() / 2]);
        prop_assert_eq!(hits, 0);
        prop_assert_eq!(out, text);
    }

    #[test]
    fn every_planted_secret_counts(secret in vec(byte(), 4..24), encoding in 0..ENCODINGS.len()) {
        let (name, encode) = ENCODINGS[encoding];
        // Textual encodings cannot represent other bytes.
        let lossy = name.starts_with("json") || name.starts_with("html");
        prop_assume!(!lossy || std::str::from_utf8(&secret).is_ok());
        let needles = build(std::slice::from_ref(&secret));
        let text = [b"<< ", encode(&secret).as_slice(), b" >>"].concat();
        prop_assert!(needles.found_in(&text), "{}: {:?}", name, String::from_utf8_lossy(&text));
    }
}
