//! `cargo bench -p pyxis-scrub`

use std::sync::Arc;

use bytes::Bytes;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use pyxis_scrub::{Decoder, Needles, Scrubber};

fn main() {
    divan::main();
}

const SECRET: &[u8] = b"sk_test_9aF2kQ7Zr1mX5vT8wB3nC6yL0dH4jG+/"; // 40 bytes, of no service
const CHUNK: usize = 64 * 1024;

fn json() -> Vec<u8> {
    (0u64..)
        .flat_map(|i| {
            let number = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!(
                "{{\"id\":\"item_{number:x}\",\"name\":\"Line \\\"{i}\\\"\",\"url\":\"https://example.com/v1/items/{i}?page=2\",\"amount\":{},\"tags\":[\"alpha\",\"beta\"],\"ok\":true}},\n",
                number % 100_000
            )
            .into_bytes()
        })
        .take(1 << 20)
        .collect()
}

fn html() -> Vec<u8> {
    (0u64..)
        .flat_map(|i| {
            format!(
                "<li class=\"row row-{i}\"><a href=\"/items/{i}?a=1&amp;b=2\">Item &quot;{i}&quot; &mdash; more</a>\n  <p>Some words of text that stand between the tags, as they do.</p></li>\n"
            )
            .into_bytes()
        })
        .take(1 << 20)
        .collect()
}

fn random() -> Vec<u8> {
    let mut state = 1u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .flatten()
    .take(1 << 20)
    .collect()
}

/// Percent escapes only, the slowest realistic text.
fn escapes() -> Vec<u8> {
    random().iter().flat_map(|byte| format!("%{byte:02X}").into_bytes()).take(1 << 20).collect()
}

const TEXTS: [&str; 4] = ["json", "html", "random", "escapes"];

fn text(name: &str) -> Vec<u8> {
    match name {
        "json" => json(),
        "html" => html(),
        "random" => random(),
        _ => escapes(),
    }
}

/// User name, password and their pair: 25 forms.
fn needles() -> Needles {
    Needles::new(
        "cred",
        &[b"service-account", SECRET, b"c2VydmljZS1hY2NvdW50OnNrX3Rlc3RfOWFGMmtRN1pyMW1YNXZUOHdC"],
    )
}

#[divan::bench(args = TEXTS)]
fn stream_1_mib(bencher: Bencher, name: &str) {
    let needles = Arc::new(needles());
    let chunks: Vec<Bytes> = text(name).chunks(CHUNK).map(Bytes::copy_from_slice).collect();
    bencher.counter(BytesCount::new(1usize << 20)).bench(|| {
        let mut scrubber = Scrubber::new(needles.clone());
        for chunk in &chunks {
            black_box(scrubber.push(chunk.clone()));
        }
        black_box(scrubber.finish())
    });
}

/// A five-byte user name shortens the stride for all forms.
#[divan::bench(args = TEXTS)]
fn short_secret_1_mib(bencher: Bencher, name: &str) {
    let needles = Needles::new("cred", &[b"qwfpg", SECRET]);
    let text = text(name);
    bencher.counter(BytesCount::new(text.len())).bench(|| black_box(needles.scrub_bytes(&text)).len());
}

#[divan::bench]
fn build_one_secret(bencher: Bencher) {
    bencher.bench(|| Needles::new("cred", black_box(&[SECRET])));
}

#[divan::bench]
fn build_and_drop_one_secret(bencher: Bencher) {
    bencher.bench(|| drop(black_box(Needles::new("cred", black_box(&[SECRET])))));
}

#[divan::bench]
fn build_three_secrets(bencher: Bencher) {
    bencher.bench(|| drop(black_box(needles())));
}

#[divan::bench]
fn build_and_stream_1_kib(bencher: Bencher) {
    let chunk = Bytes::from(json()).slice(..1024);
    bencher.bench(|| {
        let mut scrubber = Scrubber::new(Arc::new(Needles::new("cred", black_box(&[SECRET]))));
        (scrubber.push(chunk.clone()), scrubber.finish())
    });
}

#[divan::bench]
fn stream_1_kib(bencher: Bencher) {
    let needles = Arc::new(needles());
    let chunk = Bytes::from(json()).slice(..1024);
    bencher.bench(|| {
        let mut scrubber = Scrubber::new(needles.clone());
        (scrubber.push(chunk.clone()), scrubber.finish())
    });
}

#[divan::bench(args = ["gzip", "br", "zstd"])]
fn decode_json_1_mib(bencher: Bencher, coding: &str) {
    let text = json();
    let coded: Bytes = match coding {
        "gzip" => {
            let mut encoder = flate2::read::GzEncoder::new(text.as_slice(), flate2::Compression::default());
            let mut out = Vec::new();
            std::io::Read::read_to_end(&mut encoder, &mut out).expect("memory reads");
            out.into()
        }
        "br" => {
            let mut out = Vec::new();
            let params = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
            brotli::BrotliCompress(&mut text.as_slice(), &mut out, &params).expect("memory reads");
            out.into()
        }
        _ => zstd::stream::encode_all(text.as_slice(), 3).expect("memory reads").into(),
    };
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        let mut decoder = Decoder::for_content_encoding(coding).expect("a known coding");
        decoder.push(coded.clone());
        let mut total = 0;
        while let Some(piece) = decoder.pull().expect("valid") {
            total += piece.len();
        }
        total
    });
}
