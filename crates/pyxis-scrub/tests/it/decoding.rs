use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use pyxis_scrub::{DecodeError, Decoder, UnknownCoding};

pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

pub(crate) fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

pub(crate) fn raw_deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

pub(crate) fn brotli(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut out, 4096, 5, 22);
    encoder.write_all(text).expect("memory takes all");
    drop(encoder);
    out
}

pub(crate) fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(text, 3).expect("memory takes all")
}

fn identity(text: &[u8]) -> Vec<u8> {
    text.to_vec()
}

fn decode(coding: &str, chunks: &[&[u8]]) -> Result<Vec<u8>, DecodeError> {
    let mut decoder = Decoder::for_content_encoding(coding).expect("a known coding");
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        while let Some(piece) = decoder.pull()? {
            assert!(!piece.is_empty() && piece.len() <= 64 * 1024);
            out.extend_from_slice(&piece);
        }
    }
    decoder.finish()?;
    Ok(out)
}

type Encode = fn(&[u8]) -> Vec<u8>;
const CODINGS: [(&str, Encode); 10] = [
    ("", identity),
    ("identity", identity),
    ("gzip", gzip),
    ("X-GZip", gzip),
    ("deflate", zlib),
    ("deflate", raw_deflate),
    ("br", brotli),
    ("zstd", zstd),
    ("gzip, br", |text| brotli(&gzip(text))),
    ("deflate , zstd,identity, gzip,", |text| gzip(&zstd(&raw_deflate(text)))),
];

#[test]
fn every_coding_decodes_wherever_it_is_cut() {
    let text: Vec<u8> = (0..600u32).flat_map(|i| (i * i % 251).to_string().into_bytes()).collect();
    for (coding, encode) in CODINGS {
        let encoded = encode(&text);
        for cut in 0..=encoded.len() {
            let out = decode(coding, &[&encoded[..cut], &encoded[cut..]]);
            assert_eq!(out.as_deref(), Ok(text.as_slice()), "{coding} cut at {cut}");
        }
        let single: Vec<&[u8]> = encoded.chunks(1).collect();
        assert_eq!(decode(coding, &single).as_deref(), Ok(text.as_slice()), "{coding} byte by byte");
    }
}

#[test]
fn gzip_members_and_zstd_frames_follow_each_other() {
    for (coding, encode) in [("gzip", gzip as Encode), ("zstd", zstd)] {
        let encoded = [encode(b"one, "), encode(b""), encode(b"two")].concat();
        for cut in 0..=encoded.len() {
            let out = decode(coding, &[&encoded[..cut], &encoded[cut..]]);
            assert_eq!(out.as_deref(), Ok(&b"one, two"[..]), "{coding} cut at {cut}");
        }
    }
}

#[test]
fn an_empty_body_is_complete_in_every_coding() {
    for (coding, encode) in CODINGS {
        assert_eq!(decode(coding, &[]).as_deref(), Ok(&b""[..]), "{coding}: no byte at all");
        assert_eq!(decode(coding, &[&encode(b"")]).as_deref(), Ok(&b""[..]), "{coding}: nothing coded");
    }
}

#[test]
fn a_truncated_body_is_an_error() {
    let text = b"some text that is long enough to be cut".repeat(5);
    for (coding, encode) in CODINGS.iter().filter(|(coding, _)| !["", "identity"].contains(coding)) {
        let encoded = encode(&text);
        for cut in 1..encoded.len() {
            let result = decode(coding, &[&encoded[..cut]]);
            assert!(matches!(result, Err(DecodeError::Truncated { .. })), "{coding} at {cut}: {result:?}");
        }
    }
}

#[test]
fn corrupt_bodies_and_bytes_behind_the_end_are_errors() {
    for (coding, encode) in CODINGS.iter().filter(|(coding, _)| !["", "identity"].contains(coding)) {
        let behind = [encode(b"text"), b"garbage".to_vec()].concat();
        let result = decode(coding, &[&behind]);
        assert!(matches!(result, Err(DecodeError::Corrupt { .. })), "{coding}: {result:?}");
        let name = coding.rsplit(',').map(str::trim).find(|name| !name.is_empty());
        let result = decode(coding, &[b"\xff\xff\xff\xff\xff\xff\xff\xff not coded at all"]);
        assert!(matches!(result, Err(DecodeError::Corrupt { .. })), "{name:?}: {result:?}");
    }
    let mut bad_checksum = gzip(b"text");
    let at = bad_checksum.len() - 6;
    bad_checksum[at] ^= 1;
    assert_eq!(decode("gzip", &[&bad_checksum]), Err(DecodeError::Corrupt { coding: "gzip" }));
}

#[test]
fn a_window_that_is_too_large_is_refused() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.window_log(27).expect("a valid window");
    encoder.write_all(&[7; 1000]).expect("memory takes all");
    let wide_window = encoder.finish().expect("memory takes all");
    assert_eq!(decode("zstd", &[&wide_window]), Err(DecodeError::Corrupt { coding: "zstd" }));
    // RFC 9841: 0x11 announces a large window, 0x1e one of 30 bits.
    let large_window = [0x11, 0x1e, 0x03, 0, 0, 0];
    assert_eq!(decode("br", &[&large_window]), Err(DecodeError::Corrupt { coding: "br" }));
}

#[test]
fn an_unknown_coding_is_refused() {
    for value in ["compress", "gzip, dcb", "aws-chunked", "gzip;q=1", "*"] {
        assert_eq!(Decoder::for_content_encoding(value).err(), Some(UnknownCoding), "{value}");
    }
    assert!(Decoder::for_content_encoding("gzip,gzip,gzip,gzip").is_ok());
    assert_eq!(Decoder::for_content_encoding("br,br,br,br,br").err(), Some(UnknownCoding));
}

/// Encodes events and flushes after each one.
fn flushed(coding: &str, events: &[&str]) -> Vec<Vec<u8>> {
    fn run<W: Write>(mut encoder: W, taken: impl Fn(&mut W) -> Vec<u8>, events: &[&str]) -> Vec<Vec<u8>> {
        let step = |event: &&str| {
            encoder.write_all(event.as_bytes()).expect("memory takes all");
            encoder.flush().expect("memory takes all");
            taken(&mut encoder)
        };
        events.iter().map(step).collect()
    }
    let level = Compression::default();
    match coding {
        "gzip" => run(GzEncoder::new(Vec::new(), level), |e| std::mem::take(e.get_mut()), events),
        "deflate" => run(ZlibEncoder::new(Vec::new(), level), |e| std::mem::take(e.get_mut()), events),
        "br" => {
            let encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
            run(encoder, |e| std::mem::take(e.get_mut()), events)
        }
        _ => {
            let encoder = zstd::stream::Encoder::new(Vec::new(), 3).expect("an encoder");
            run(encoder, |e| std::mem::take(e.get_mut()), events)
        }
    }
}

#[test]
fn each_flushed_event_comes_through_before_the_next() {
    let events = ["data: one\n\n", "data: two\n\n", "data: three\n\n"];
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let mut decoder = Decoder::for_content_encoding(coding).expect("a known coding");
        for (event, chunk) in events.iter().zip(flushed(coding, &events)) {
            decoder.push(chunk.into());
            let mut out = Vec::new();
            while let Some(piece) = decoder.pull().expect("a valid stream") {
                out.extend_from_slice(&piece);
            }
            assert_eq!(String::from_utf8_lossy(&out), *event, "{coding}");
        }
    }
}

#[test]
fn a_bomb_comes_out_in_small_pieces() {
    let zeros = vec![0; 8 * 1024 * 1024];
    let bomb = |encode: Encode, times: usize| (0..times).fold(zeros.clone(), |text, _| encode(&text));
    for (coding, bomb) in [
        ("gzip", bomb(gzip, 1)),
        ("deflate", bomb(zlib, 1)),
        ("br", bomb(brotli, 1)),
        ("zstd", bomb(zstd, 1)),
        ("gzip,gzip", bomb(gzip, 2)),
    ] {
        assert!(bomb.len() < 64 * 1024, "one chunk makes 8 MiB");
        let mut decoder = Decoder::for_content_encoding(coding).expect("a known coding");
        decoder.push(bomb.into());
        let mut total = 0;
        while let Some(piece) = decoder.pull().expect("a valid stream") {
            assert!(piece.len() <= 64 * 1024);
            total += piece.len();
        }
        assert_eq!((total, decoder.finish()), (zeros.len(), Ok(())), "{coding}");
    }
}
