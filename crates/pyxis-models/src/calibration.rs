//! From a model's raw answer to a probability: a logistic curve with two numbers (Platt scaling).

use serde::{Deserialize, Serialize};

/// Probability = 1 / (1 + e^-(slope · raw + offset)).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    pub slope: f64,
    pub offset: f64,
}

impl Curve {
    /// Leaves the raw answer, in log odds, unchanged.
    pub const PLAIN: Self = Self { slope: 1.0, offset: 0.0 };

    /// Fits raw answers of labeled addresses by Newton's method. Uninformative answers give a flat curve.
    pub fn fit(raw: &[(f64, bool)]) -> Self {
        let mut curve = Self::PLAIN;
        for _ in 0..50 {
            let Some((slope, offset)) = curve.step(raw) else { break };
            curve.slope -= slope;
            curve.offset -= offset;
            if slope.abs() + offset.abs() < 1e-10 {
                break;
            }
        }
        curve
    }

    /// One Newton step of the log loss, with slight regularization to keep it solvable.
    fn step(&self, raw: &[(f64, bool)]) -> Option<(f64, f64)> {
        const PULL: f64 = 1e-3;
        let (mut g0, mut g1) = (PULL * (self.slope - 1.0), PULL * self.offset);
        let (mut h00, mut h01, mut h11) = (PULL, 0.0, PULL);
        for (value, human) in raw {
            let probability = self.probability(*value);
            let error = probability - f64::from(u8::from(*human));
            let weight = probability * (1.0 - probability);
            g0 += error * value;
            g1 += error;
            h00 += weight * value * value;
            h01 += weight * value;
            h11 += weight;
        }
        let determinant = h00 * h11 - h01 * h01;
        let step = ((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant);
        (step.0.is_finite() && step.1.is_finite()).then_some(step)
    }

    /// The log odds of a raw answer.
    pub fn log_odds(&self, raw: f64) -> f64 {
        self.slope.mul_add(raw, self.offset)
    }

    /// The probability of a raw answer.
    pub fn probability(&self, raw: f64) -> f64 {
        sigmoid(self.log_odds(raw))
    }
}

/// Converts log odds to a probability.
pub fn sigmoid(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_finds_frequencies_again() {
        // Of those with raw 1, three out of four are human; of those with raw -1, one out of four.
        let raw: Vec<(f64, bool)> = (0..4000)
            .map(|index| if index % 2 == 0 { (1.0, index % 8 != 0) } else { (-1.0, index % 8 == 1) })
            .collect();
        let curve = Curve::fit(&raw);
        assert!((curve.probability(1.0) - 0.75).abs() < 1e-3, "{curve:?}");
        assert!((curve.probability(-1.0) - 0.25).abs() < 1e-3, "{curve:?}");
    }

    #[test]
    fn raw_answers_without_meaning_become_the_mean() {
        let raw: Vec<(f64, bool)> = (0..1000).map(|index| (0.0, index % 10 == 0)).collect();
        assert!((Curve::fit(&raw).probability(0.0) - 0.1).abs() < 1e-3);
    }
}
