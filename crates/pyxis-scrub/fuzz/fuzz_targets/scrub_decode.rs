//! No body makes the decoder panic, loop without output, or return too large a piece.
//!
//! Run `cargo +nightly fuzz run scrub_decode` in `crates/pyxis-scrub`. The tests run the same body over fixed inputs.

#![no_main]

#[path = "../bodies/scrub_decode.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
