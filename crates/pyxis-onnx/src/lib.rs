//! Evaluator of custom models: ONNX files that read one wallet's features and return the probability that it is a
//! human.
//!
//! A file is untrusted input. [`Program::load`] reads it, keeps what leads to the probability, and refuses every
//! operator that is not in [`OPERATORS`]. It also bounds the cost of an answer, and tries the model before it scores
//! any wallet. Everything that a model may do is code of this crate.

mod elementwise;
mod graph;
mod half;
mod kernel;
mod linear;
mod load_error;
mod matmul;
mod normalization;
mod operators;
mod plan;
mod post_transform;
mod preprocessing;
mod program;
mod proto;
mod reduction;
mod rowwise;
mod selection;
mod spec;
mod strides;
mod tensor;
mod trees;
mod wire;

pub use kernel::EvaluationError;
pub use load_error::LoadError;
pub use operators::OPERATORS;
pub use program::{Metadata, Program};
pub use spec::ModelSpec;

/// Largest file, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Maximum number of operators between input and probability.
pub const MOST_OPERATORS: usize = 512;
/// Highest cost of an answer: steps through trees, and multiplications with weights.
pub const MOST_STEPS: usize = 4_000_000;
