//! Output contains no secret and does not depend on chunk boundaries.

use std::sync::Arc;

use bytes::Bytes;
use pyxis_scrub::{Needles, Scrubber};

fn scrub(needles: &Arc<Needles>, text: &[u8], chunk: usize) -> Vec<u8> {
    let mut scrubber = Scrubber::new(needles.clone());
    let mut out = Vec::new();
    for chunk in text.chunks(chunk) {
        scrubber.push(Bytes::copy_from_slice(chunk)).iter().for_each(|piece| out.extend_from_slice(piece));
    }
    scrubber.finish().iter().for_each(|piece| out.extend_from_slice(piece));
    out
}

/// Input: chunk size, length of the secret, secret, text.
pub(crate) fn run(data: &[u8]) {
    let [chunk, len, rest @ ..] = data else { return };
    let Some((secret, text)) = rest.split_at_checked(usize::from(*len % 24)) else { return };
    // With more escape characters the search may run out of fuel, at a point that depends on chunk boundaries.
    if secret.iter().filter(|byte| b"%\\&".contains(byte)).count() > 4 {
        return;
    }
    let needles = Arc::new(Needles::new("cred", &[secret]));
    let whole = scrub(&needles, text, usize::MAX);
    assert!(!needles.found_in(&whole), "the output shows a secret");
    assert_eq!(whole, scrub(&needles, text, usize::from(*chunk).max(1)), "the output depends on the cuts");
}
