//! Files of ONNX: what they answer, against numbers of scikit-learn and of a pencil, and which are refused.

mod answers;
mod hostile;
mod refusals;

use pyxis_onnx::{Ask, Program, Refused};

fn asked(features: usize) -> Ask {
    Ask { features, ..Ask::default() }
}

fn load(bytes: &[u8], features: usize) -> Result<Program, Refused> {
    Program::load(bytes, &asked(features))
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

/// What an exported file needs beside its features.
fn ask_for(name: &str) -> Ask {
    // These were trained on rows without holes, so that nothing in them knows the unknown.
    let unknown = matches!(name, "logistic" | "perceptron").then_some(0.0);
    Ask { unknown, ..asked(4) }
}
