//! Models that were trained on the same view of wallets and answer together.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::calibration::Curve;
use crate::features;
use crate::forest::Forest;
use crate::scope::Model;

/// The name of the model for chains without labels.
pub const SHARED: &str = "shared";

/// One model.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name: a model of the API, or [`SHARED`].
    pub name: String,
    /// Converts raw answers to probabilities.
    pub curve: Curve,
    /// Weight in the aggregate.
    pub weight: f64,
    pub forest: Forest,
}

/// Models, and the curve that combines their answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The models; one may be [`SHARED`].
    pub parts: Vec<Part>,
    /// Converts the weighted mean of log odds to the aggregate's probability.
    pub aggregate: Curve,
}

impl Family {
    /// The part that answers for a model; true if it is only the fallback.
    pub fn part(&self, model: Model) -> Option<(&Part, bool)> {
        let named = |name: &str| self.parts.iter().find(|part| part.name == name);
        match named(model.as_str()) {
            Some(part) => Some((part, false)),
            None => named(SHARED).map(|part| (part, true)),
        }
    }

    /// Adds everything that affects answers to a digest.
    pub(crate) fn digest(&self, sum: &mut Sha256) {
        for part in &self.parts {
            sum.update(part.name.as_bytes());
            for number in [part.curve.slope, part.curve.offset, part.weight] {
                sum.update(number.to_le_bytes());
            }
            sum.update(part.forest.to_bytes());
        }
        sum.update(self.aggregate.slope.to_le_bytes());
        sum.update(self.aggregate.offset.to_le_bytes());
    }

    /// The file's description, and the trees, one model after the other.
    pub(crate) fn to_parts(&self) -> (FamilyHead, Vec<u8>) {
        let forests: Vec<Vec<u8>> = self.parts.iter().map(|part| part.forest.to_bytes()).collect();
        let head = |(part, forest): (&Part, &Vec<u8>)| PartHead {
            name: part.name.clone(),
            curve: part.curve,
            weight: part.weight,
            bytes: forest.len(),
        };
        let parts = self.parts.iter().zip(&forests).map(head).collect();
        (FamilyHead { aggregate: self.aggregate, parts }, forests.concat())
    }

    /// Reads the output of [`Family::to_parts`], and returns the bytes after the trees.
    pub(crate) fn from_parts(head: FamilyHead, mut bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut parts = Vec::with_capacity(head.parts.len());
        for PartHead { name, curve, weight, bytes: length } in head.parts {
            let (forest, after) = bytes
                .split_at_checked(length)
                .ok_or_else(|| Error::unreadable("the model file", "it is damaged"))?;
            bytes = after;
            parts.push(Part { name, curve, weight, forest: Forest::from_bytes(forest, features::ALL)? });
        }
        Ok((Self { parts, aggregate: head.aggregate }, bytes))
    }
}

/// A file's description of models that answer together.
#[derive(Serialize, Deserialize)]
pub(crate) struct FamilyHead {
    aggregate: Curve,
    pub(crate) parts: Vec<PartHead>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PartHead {
    name: String,
    curve: Curve,
    weight: f64,
    bytes: usize,
}
