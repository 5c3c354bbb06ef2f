//! Functions that classifiers and regressors apply to their scores.

/// Function that turns the scores of a row into its output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PostTransform {
    None,
    Logistic,
    Softmax,
}

impl PostTransform {
    /// Function with this name; without a name, none.
    pub(crate) fn read(name: Option<&str>) -> Result<Self, String> {
        match name.unwrap_or("NONE") {
            "NONE" => Ok(Self::None),
            "LOGISTIC" => Ok(Self::Logistic),
            "SOFTMAX" => Ok(Self::Softmax),
            other => Err(format!("the post transform {other}")),
        }
    }

    /// Applies the function to the scores of one row.
    pub(crate) fn apply(self, scores: &mut [f64]) {
        match self {
            Self::None => {}
            Self::Logistic => {
                for score in scores {
                    *score = logistic(*score);
                }
            }
            Self::Softmax => softmax(scores),
        }
    }
}

/// Standard logistic function.
pub(crate) fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Exponentials divided by their sum.
fn softmax(scores: &mut [f64]) {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for score in &mut *scores {
        *score = (*score - most).exp();
        sum += *score;
    }
    for score in scores {
        *score /= sum;
    }
}
