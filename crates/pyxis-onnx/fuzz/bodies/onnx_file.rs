//! No file makes the evaluator panic, and no answer is anything but a probability.

use pyxis_onnx::{LoadError, ModelSpec, Program};

/// One file, as a model of this many features. Any outcome is fine but a panic.
pub(crate) fn run(file: &[u8], features: usize) {
    for unknown in [None, Some(0.5)] {
        let spec = ModelSpec { features, unknown, ..ModelSpec::default() };
        match Program::load(file, &spec) {
            Ok(program) => {
                for value in [0.0, -3.5, 1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    match program.probability(&vec![value; features]) {
                        Ok(probability) => assert!((0.0..=1.0).contains(&probability), "{probability}"),
                        Err(error) => assert_ne!(error.to_string(), "the model failed", "a panic was caught"),
                    }
                }
            }
            Err(LoadError::Damaged(why)) => assert!(
                !matches!(why.as_str(), "reading it failed" | "the model failed"),
                "a panic was caught"
            ),
            Err(_) => {}
        }
    }
}
