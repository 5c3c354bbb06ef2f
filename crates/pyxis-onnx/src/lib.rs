//! Models of the user's own: ONNX files that look at one wallet's numbers and answer with the probability
//! that it is a human.
//!
//! A file is foreign input. [`Program::load`] reads it, keeps what leads to the probability, refuses
//! whatever it does not know by name, bounds what an answer may cost, and tries the model before anybody is
//! scored by it. What passes runs in `tract`, with the trees, scalers and imputers of this crate: those of
//! the library follow places in the file without looking.

mod ask;
mod attributes;
mod graph;
mod operators;
mod program;
mod refused;
mod rows;
mod shaping;
mod trees;

pub use ask::Ask;
pub use operators::OPERATORS;
pub use program::{About, Failed, Program};
pub use refused::Refused;

/// The largest file, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// The most operators between input and probability.
pub const MOST_OPERATORS: usize = 512;
/// The most that one answer may cost: steps through trees, and multiplications with weights.
pub const MOST_STEPS: usize = 4_000_000;
