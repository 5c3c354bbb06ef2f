//! Why a file is no model that can be used, in sentences that say what to do.

use crate::{MOST_BYTES, MOST_OPERATORS, MOST_STEPS, OPERATORS};

/// Why a file was refused. Nothing was scored by it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// It is too large to be looked at.
    #[error("the file has {0} bytes, and {MOST_BYTES} are the most: train a smaller model")]
    TooLarge(usize),
    /// It is something else.
    #[error("this is no ONNX file ({0}): export the model with skl2onnx, onnxmltools or torch.onnx")]
    NotOnnx(String),
    /// Operators that are not supported, by name.
    #[error(
        "it uses {0}, which is not supported: leave it out or export the model another way (supported: {list})",
        list = OPERATORS.join(", ")
    )]
    Operators(String),
    /// More operators than are looked at.
    #[error("it has {0} operators, and {MOST_OPERATORS} are the most: train a smaller model")]
    TooMany(usize),
    /// An answer costs too much.
    #[error("an answer takes {0} steps, and {MOST_STEPS} are the most: use fewer or smaller trees or layers")]
    TooSlow(usize),
    /// Its input is not the features.
    #[error("its input is {found}; it must be one float tensor of shape [n, {features}]: {hint}")]
    Input {
        /// What it is.
        found: String,
        /// How many features the model has.
        features: usize,
        /// What to do.
        hint: &'static str,
    },
    /// No output, or more than one, can be the probability.
    #[error("its outputs are {found}: name the one that holds the probability (--output)")]
    Output {
        /// Their names.
        found: String,
    },
    /// The wiring or a part of it does not hold together.
    #[error("it is damaged or made in a way that is not understood: {0}; export it again")]
    Damaged(String),
    /// What it answers is no probability.
    #[error(
        "it answers {answer} where every feature is {tried}, which is no probability from 0 to 1: export \
         probabilities (predict_proba), not classes, margins or regressions, or name another output (--output)"
    )]
    NoProbability {
        /// What it answered.
        answer: String,
        /// What it was asked.
        tried: &'static str,
    },
    /// It answers with no number.
    #[error(
        "it answers no number (NaN) where features are unknown: put an imputer in front of it, or say what \
         stands for the unknown (--unknown NUMBER)"
    )]
    Unknown,
    /// The column of the human class is not there.
    #[error(
        "its output has {columns} columns, and there is no column {wanted}: say which one is human (--human)"
    )]
    Column {
        /// How many it has.
        columns: usize,
        /// Which was wanted.
        wanted: usize,
    },
}
