//! ONNX files: answers compared with those of other evaluators, and refusals.

mod hostile;
mod model_outputs;
mod refusals;

use pyxis_onnx::{LoadError, ModelSpec, Program};

fn spec(features: usize) -> ModelSpec {
    ModelSpec { features, ..ModelSpec::default() }
}

fn load(bytes: &[u8], features: usize) -> Result<Program, LoadError> {
    Program::load(bytes, &spec(features))
}

/// Files that scikit-learn's exporter wrote (tests/data/make.py), by name.
const EXPORTED: [(&str, &[u8]); 6] = [
    ("logistic", include_bytes!("../data/logistic.onnx")),
    ("imputed", include_bytes!("../data/imputed.onnx")),
    ("boosted", include_bytes!("../data/boosted.onnx")),
    ("histogram", include_bytes!("../data/histogram.onnx")),
    ("forest", include_bytes!("../data/forest.onnx")),
    ("perceptron", include_bytes!("../data/perceptron.onnx")),
];

/// Specification for an exported file.
fn spec_for(name: &str) -> ModelSpec {
    // These were trained on complete rows, so they do not handle unknown features.
    let unknown = matches!(name, "logistic" | "perceptron").then_some(0.0);
    ModelSpec { unknown, ..spec(4) }
}
