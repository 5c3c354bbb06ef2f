//! What is wanted of a file.

/// What a model is to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ask {
    /// How many features it is given.
    pub features: usize,
    /// The output that holds the probability, where the file leaves a choice.
    pub output: Option<String>,
    /// The column of that output that is the human one; otherwise what labels in the file say, or the last.
    pub human: Option<usize>,
    /// What stands for the unknown; otherwise the model is given NaN.
    pub unknown: Option<f32>,
}
