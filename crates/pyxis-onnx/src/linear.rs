//! `LinearClassifier` and `LinearRegressor` of `ai.onnx.ml`.

use crate::post_transform::PostTransform;
use crate::proto::GraphNode;
use crate::rowwise::Rowwise;
use crate::tensor::single;

/// Weighted sums of the features as scores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// Coefficients, score by score.
    coefficients: Vec<f32>,
    /// One for each score.
    intercepts: Vec<f32>,
    features: usize,
    post_transform: PostTransform,
    /// True if the one score is that of the second of two classes.
    is_binary: bool,
}

impl Linear {
    pub(crate) fn classifier(node: &GraphNode<'_>) -> Result<Self, String> {
        let classes = node.labels().len();
        let scores = match node.floats("intercepts").len() {
            0 if classes == 2 && !node.flag("multi_class") => 1,
            0 => classes,
            intercepts => intercepts,
        };
        let is_binary = classes == 2 && scores == 1;
        if !is_binary && scores != classes {
            return Err(format!("a LinearClassifier has {scores} intercepts for {classes} classes"));
        }
        Self::read(node, "LinearClassifier", scores, is_binary)
    }

    pub(crate) fn regressor(node: &GraphNode<'_>) -> Result<Self, String> {
        let targets = usize::try_from(node.int("targets").unwrap_or(1)).unwrap_or(0);
        Self::read(node, "LinearRegressor", targets, false)
    }

    fn read(node: &GraphNode<'_>, kind: &str, scores: usize, is_binary: bool) -> Result<Self, String> {
        let coefficients = node.floats("coefficients").to_vec();
        let mut intercepts = node.floats("intercepts").to_vec();
        if intercepts.is_empty() {
            intercepts.resize(scores.min(coefficients.len()), 0.0);
        }
        if coefficients.is_empty() || intercepts.len() != scores || !coefficients.len().is_multiple_of(scores)
        {
            return Err(format!(
                "a {kind} has {} coefficients and {} intercepts for {scores} scores",
                coefficients.len(),
                intercepts.len()
            ));
        }
        let features = coefficients.len() / scores;
        let post_transform = PostTransform::read(node.text("post_transform"))?;
        Ok(Self { coefficients, intercepts, features, post_transform, is_binary })
    }

    fn score(&self, index: usize, row: &[f32]) -> f64 {
        let coefficients = self.coefficients.chunks_exact(self.features).nth(index).unwrap_or_default();
        let intercept = self.intercepts.get(index).copied().unwrap_or(0.0);
        let products = coefficients.iter().zip(row).map(|(one, other)| f64::from(*one) * f64::from(*other));
        products.sum::<f64>() + f64::from(intercept)
    }
}

impl Rowwise for Linear {
    fn features(&self) -> usize {
        self.features
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn columns(&self, _: usize) -> usize {
        if self.is_binary { 2 } else { self.intercepts.len() }
    }

    fn work(&self) -> usize {
        self.coefficients.len()
    }

    fn compute(&self, row: &[f32], into: &mut [f32]) {
        if self.is_binary {
            let score = self.score(0, row);
            let mut scores = [-score, score];
            self.post_transform.apply(&mut scores);
            into.copy_from_slice(&scores.map(single));
            return;
        }
        let scores = (0..self.intercepts.len()).map(|index| self.score(index, row));
        let mut few = [0.0; 8];
        if let Some(few) = few.get_mut(..self.intercepts.len()) {
            for (into, score) in few.iter_mut().zip(scores) {
                *into = score;
            }
            self.finish(few, into);
        } else {
            self.finish(&mut scores.collect::<Vec<f64>>(), into);
        }
    }
}

impl Linear {
    fn finish(&self, scores: &mut [f64], into: &mut [f32]) {
        self.post_transform.apply(scores);
        for (score, into) in scores.iter().zip(into) {
            *into = single(*score);
        }
    }
}
