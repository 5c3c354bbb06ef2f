//! Policy and the wire see the same path, whatever an agent writes as its target.
//!
//! `cargo +nightly fuzz run target_path` in `crates/pyxis-core`. The tests run the same body over fixed inputs.

#![no_main]

#[path = "../bodies/target_path.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|raw: &str| body::run(raw));
