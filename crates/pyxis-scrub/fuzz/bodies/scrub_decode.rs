//! No body makes the decoder panic, loop without output, or return too large a piece.

use bytes::Bytes;
use pyxis_scrub::{DecodeError, Decoder};

/// Stops decompression bombs, which are not errors here.
const MAX_OUTPUT: usize = 1 << 24;

fn decode(coding: &str, body: &[u8], chunk: usize) -> Result<(), DecodeError> {
    let Ok(mut decoder) = Decoder::for_content_encoding(coding) else { return Ok(()) };
    let mut total = 0;
    for chunk in body.chunks(chunk) {
        decoder.push(Bytes::copy_from_slice(chunk));
        while let Some(piece) = decoder.pull()? {
            assert!(!piece.is_empty() && piece.len() <= 64 * 1024);
            total += piece.len();
            if total > MAX_OUTPUT {
                return Ok(());
            }
        }
    }
    decoder.finish()
}

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let [coding, chunk, body @ ..] = data else { return };
    let codings = ["gzip", "deflate", "br", "zstd", "gzip, gzip", "br, zstd"];
    let coding = codings[usize::from(*coding) % codings.len()];
    // Any outcome is acceptable.
    let _outcome = decode(coding, body, usize::from(*chunk).max(1));
}
