//! Requirements that a file must meet.

/// Requirements for a use of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelSpec {
    /// Number of features the model is given.
    pub features: usize,
    /// Output that holds the probability, if the file has several candidates.
    pub output: Option<String>,
    /// Human column of that output. Default: the one that labels in the file name, or the last column.
    pub human: Option<usize>,
    /// Value that replaces unknown features. Default: the model receives NaN.
    pub unknown: Option<f32>,
}
