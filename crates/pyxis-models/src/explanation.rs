//! Why a model answered what it answered.

/// How a feature moved an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Its place among the features.
    pub feature: usize,
    /// What the wallet has.
    pub value: f32,
    /// By how much it moved the log odds, towards human if positive.
    pub moved: f64,
}

/// The whole of an answer, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The log odds before looking.
    pub start: f64,
    /// Features that moved them, the strongest first.
    pub contributions: Vec<Contribution>,
}
