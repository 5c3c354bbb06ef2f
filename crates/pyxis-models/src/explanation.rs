//! Reasons for a model's answer.

/// Effect of a feature on an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contribution {
    /// Its index among the features.
    pub feature: usize,
    /// The wallet's value.
    pub value: f32,
    /// Change of the log odds; positive means toward human.
    pub moved: f64,
}

/// An answer split into its contributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The log odds before any feature is considered.
    pub start: f64,
    /// Features that moved them, strongest first.
    pub contributions: Vec<Contribution>,
}
