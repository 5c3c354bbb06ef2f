//! Runs the bodies of the fuzz targets over fixed inputs. A fuzzer finds more but needs a nightly compiler; these run
//! on every change.

#[path = "../../fuzz/bodies/scrub_decode.rs"]
mod scrub_decode;
#[path = "../../fuzz/bodies/scrub_stream.rs"]
mod scrub_stream;

use crate::decoding::{brotli, gzip, raw_deflate, zlib, zstd};

/// Reproducible pseudo-random numbers (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("a small number")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }
}

#[test]
fn no_damaged_body_makes_the_decoder_panic() {
    let text = b"the same words, and the same words again, and again ".repeat(60);
    let mut numbers = Numbers(7);
    for whole in
        [gzip(&text), zlib(&text), raw_deflate(&text), brotli(&text), zstd(&text), gzip(&gzip(&text)), text]
    {
        for coding in 0..6 {
            for round in 0..120 {
                let mut body = whole.clone();
                match round % 3 {
                    0 => body.truncate(numbers.below(whole.len())),
                    1 => {
                        let at = numbers.below(whole.len());
                        body[at] ^= 1 << numbers.below(8);
                    }
                    _ => {
                        let at = numbers.below(whole.len());
                        body.insert(at, numbers.byte());
                    }
                }
                scrub_decode::run(&[&[coding, numbers.byte()], body.as_slice()].concat());
            }
        }
    }
}

#[test]
fn no_cut_lets_a_secret_through() {
    // A small alphabet makes secrets, near misses and escapes frequent.
    let letters = b"ab%2\\u&+=/\"A6 ";
    let mut numbers = Numbers(11);
    for _ in 0..4000 {
        let (chunk, length) = (numbers.byte() % 9, numbers.below(24));
        let mut input = vec![chunk, u8::try_from(length).expect("below 24")];
        let secret: Vec<u8> = (0..length).map(|_| letters[numbers.below(letters.len())]).collect();
        input.extend_from_slice(&secret);
        for _ in 0..numbers.below(60) {
            if numbers.below(8) == 0 {
                input.extend_from_slice(&secret);
            }
            input.push(letters[numbers.below(letters.len())]);
        }
        scrub_stream::run(&input);
    }
}
