//! Requirements that a file must meet.

/// Use of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSpec {
    /// Number of features the model is given.
    pub features: usize,
    /// Output that holds the probability, where the file leaves a choice.
    pub output: Option<String>,
    /// Column of that output that is the human one. Default: what labels in the file say, or the last column.
    pub human: Option<usize>,
    /// Value that replaces unknown features. Default: the model is given NaN.
    pub unknown: Option<f32>,
}
