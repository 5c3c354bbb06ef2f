//! No file makes the evaluator panic, and no answer is anything but a probability.
//!
//! `cargo +nightly fuzz run onnx_file` in `crates/pyxis-onnx`. The tests run the same body over fixed inputs.

#![no_main]

#[path = "../bodies/onnx_file.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [features, file @ ..] = data else { return };
    body::run(file, usize::from(features % 8) + 1);
});
