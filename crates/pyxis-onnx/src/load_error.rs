//! Reasons why a file cannot be used as a model.

use crate::{MOST_BYTES, MOST_OPERATORS, MOST_STEPS, OPERATORS};

/// Reason why a file was refused. No score was computed with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The file exceeds [`MOST_BYTES`].
    #[error("the file has {0} bytes; the limit is {MOST_BYTES}: train a smaller model")]
    TooLarge(usize),
    /// The bytes are not an ONNX model.
    #[error("this is not an ONNX file ({0}): export the model with skl2onnx, onnxmltools or torch.onnx")]
    NotOnnx(String),
    /// Names of operators that are not in [`OPERATORS`].
    #[error(
        "the model uses {0}, which is not supported: leave it out or export the model another way (supported: {list})",
        list = OPERATORS.join(", ")
    )]
    Operators(String),
    /// The model has more operators than [`MOST_OPERATORS`].
    #[error("the model has {0} operators; the limit is {MOST_OPERATORS}: train a smaller model")]
    TooMany(usize),
    /// An answer costs more than [`MOST_STEPS`].
    #[error(
        "one evaluation takes {0} steps; the limit is {MOST_STEPS}: use fewer or smaller trees or layers"
    )]
    TooSlow(usize),
    /// The input differs from the features.
    #[error("the input is {found}; it must be one float tensor of shape [n, {features}]: {hint}")]
    Input {
        /// Type or shape of the input in the file.
        found: String,
        /// Number of features the model is given.
        features: usize,
        /// Advice.
        hint: &'static str,
    },
    /// No output, or more than one, can be the probability.
    #[error("no single output holds the probability (outputs: {found}): name one of them with --output")]
    Output {
        /// Names of the outputs.
        found: String,
    },
    /// Wiring, shapes or values of the model are inconsistent, or of an unsupported kind.
    #[error("the model is damaged or uses something unsupported: {0}; export it again")]
    Damaged(String),
    /// The output is not a probability.
    #[error(
        "the model returns {answer} when every feature is {tried}; it must return a probability from 0 to 1: \
         export probabilities (predict_proba), not classes, margins or regressions, or name another output \
         (--output)"
    )]
    NoProbability {
        /// Output of the trial.
        answer: String,
        /// Value of every feature in the trial.
        tried: &'static str,
    },
    /// The output is NaN if features are unknown.
    #[error(
        "the model returns NaN when features are unknown: put an imputer in front of it, or set the value \
         that replaces unknown features (--unknown NUMBER)"
    )]
    Unknown,
    /// The human column does not exist.
    #[error(
        "the output has {columns} columns, so there is no column {wanted}; columns count from 0: set --human"
    )]
    Column {
        /// Number of columns of the output.
        columns: usize,
        /// Requested column.
        wanted: usize,
    },
}
