//! For any pattern and target: a pattern that lets a path pass as an auto pattern also protects it as a require or deny
//! pattern, however the path is spelled.
//!
//! `cargo +nightly fuzz run policy_reading` in `crates/pyxis-core`. The tests run the same body over fixed inputs.

#![no_main]

#[path = "../bodies/policy_reading.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: (&str, &str)| body::run(input));
