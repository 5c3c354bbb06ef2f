//! Output contains no secret and does not depend on chunk boundaries.
//!
//! Run `cargo +nightly fuzz run scrub_stream` in `crates/pyxis-scrub`. The tests run the same body over fixed inputs.

#![no_main]

#[path = "../bodies/scrub_stream.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
