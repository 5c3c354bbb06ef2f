//! Custom models within a bundle: ONNX files that answer for one model of the API.
//!
//! A custom model of a scope reads the same [`features::ALL`] features as the built-in one; one for the aggregate reads
//! the wallet's, [`features::WALLET`]. Its probability is converted to log odds and calibrated with its own curve. Too
//! little data stays too little data.

use std::sync::Arc;

use pyxis_core::hex;
use pyxis_onnx::{EvaluationError, ModelSpec, Program};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::calibration::Curve;
use crate::dataset::{FOLDS, Row, Split};
use crate::explanation::{Contribution, Explanation};
use crate::features::{self, Features};
use crate::metrics::{self, Quality, information};
use crate::scope::Model;

/// Smallest distance of a probability from 0 and 1: no model is more certain.
const SURE: f64 = 1e-6;
/// Fewest labeled humans, and fewest labeled Sybils, with data for a calibration.
const LEAST: usize = 50;

/// Description of a custom model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomCard {
    /// Model of the API that it answers for.
    pub model: String,
    /// Display name.
    pub name: String,
    /// Description by its owner.
    pub description: Option<String>,
    /// SHA-256 of the file, hex.
    pub file_sha256: String,
    /// SHA-256 of the names of the features, hex ([`features::digest`]).
    pub features_sha256: String,
    /// Number of features it reads.
    pub features: usize,
    /// Program that wrote the file.
    pub producer: String,
    /// Output that holds the probability.
    pub output: String,
    /// Human column of that output.
    pub human_column: usize,
    /// Operators by name.
    pub operators: Vec<String>,
    /// Cost of an answer: steps through trees, and multiplications with weights.
    pub steps: usize,
    /// Value that replaces unknown features. Default: the model is given NaN.
    pub unknown: Option<f32>,
    /// Curve from the file's log odds to calibrated ones.
    pub calibration: Curve,
    /// Weight in the aggregate. Default: that of the model it replaces.
    pub weight: Option<f64>,
    /// Time it was added, RFC 3339.
    pub added_at: String,
    /// Quality, if it was measured.
    pub quality: Option<Quality>,
}

/// Use of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelUse {
    /// Model of the API that it answers for.
    pub model: Model,
    /// Display name.
    pub name: String,
    /// Description by its owner.
    pub description: Option<String>,
    /// Output that holds the probability, if the file has several candidates.
    pub output: Option<String>,
    /// Human column of that output, if labels in the file do not determine it.
    pub human: Option<usize>,
    /// Value that replaces unknown features.
    pub unknown: Option<f32>,
    /// Curve from the file's log odds to calibrated ones.
    pub calibration: Curve,
    /// Weight in the aggregate.
    pub weight: Option<f64>,
    /// Time it is added, RFC 3339.
    pub added_at: String,
}

#[derive(Clone, Debug)]
pub struct Custom {
    pub card: CustomCard,
    /// Model of the API that it answers for.
    pub model: Model,
    file: Arc<[u8]>,
    program: Program,
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.card == other.card
    }
}

impl Custom {
    /// Loads a file after checking it and trying it out.
    pub fn new(file: &[u8], wanted: ModelUse) -> Result<Self, Error> {
        let ModelUse { model, name, description, output, human, unknown, calibration, weight, added_at } =
            wanted;
        let given = features::feature_count(model);
        let program = Program::load(file, &ModelSpec { features: given, output, human, unknown })?;
        let metadata = program.metadata();
        let card = CustomCard {
            model: model.as_str().to_owned(),
            name,
            description,
            file_sha256: hex::encode(&Sha256::digest(file)),
            features_sha256: features::digest(model),
            features: given,
            producer: metadata.producer.clone(),
            output: metadata.output.clone(),
            human_column: metadata.human,
            operators: metadata.operators.clone(),
            steps: metadata.steps,
            unknown,
            calibration,
            weight,
            added_at,
            quality: None,
        };
        Ok(Self { card, model, file: file.into(), program })
    }

    /// Restores a stored model. A file that differs from its card, or was made for other features, is refused.
    pub(crate) fn restore(card: CustomCard, file: &[u8]) -> Result<Self, Error> {
        let refused = |why: &str| Error::unreadable("the custom model", format!("{}: {why}", card.name));
        let model = Model::from_name(&card.model).ok_or_else(|| refused("it replaces no known model"))?;
        if card.features_sha256 != features::digest(model) {
            return Err(refused(
                "it was made for other features; train it on the current ones and add it again",
            ));
        }
        if card.file_sha256 != hex::encode(&Sha256::digest(file)) {
            return Err(refused("its file is damaged"));
        }
        let spec = ModelSpec {
            features: features::feature_count(model),
            output: Some(card.output.clone()),
            human: Some(card.human_column),
            unknown: card.unknown,
        };
        let program = Program::load(file, &spec)?;
        Ok(Self { card, model, file: file.into(), program })
    }

    /// The file as it was added.
    pub fn file(&self) -> &[u8] {
        &self.file
    }

    /// Calibrated log odds of being human.
    pub(crate) fn log_odds(&self, seen: &[f32]) -> Result<f64, Error> {
        Ok(self.card.calibration.log_odds(self.raw(seen)?))
    }

    /// The file's own log odds.
    fn raw(&self, seen: &[f32]) -> Result<f64, Error> {
        let failed = |error: EvaluationError| Error::Custom(self.card.name.clone(), error.to_string());
        let probability = self.program.probability(seen).map_err(failed)?.clamp(SURE, 1.0 - SURE);
        Ok((probability / (1.0 - probability)).ln())
    }

    /// Explains an answer by the change when a feature becomes unknown. Contributions need not add up.
    pub(crate) fn explain(&self, seen: &[f32]) -> Result<Explanation, Error> {
        let whole = self.log_odds(seen)?;
        let mut contributions = Vec::new();
        let mut without = seen.to_vec();
        for (feature, value) in seen.iter().copied().enumerate().filter(|(_, value)| !value.is_nan()) {
            without[feature] = f32::NAN;
            let moved = whole - self.log_odds(&without)?;
            without[feature] = value;
            if moved != 0.0 {
                contributions.push(Contribution { feature, value, moved });
            }
        }
        contributions.sort_by(|one, other| other.moved.abs().total_cmp(&one.moved.abs()));
        Ok(Explanation { start: self.log_odds(&vec![f32::NAN; seen.len()])?, contributions })
    }

    /// Calibrates the model with labeled addresses that it has not seen, weighs it, and measures it: each fifth with a
    /// calibration by the others.
    pub fn calibrate(&mut self, rows: &[Row]) -> Result<(), Error> {
        const SEED: u64 = 1;
        let mut answers: Vec<(f64, bool, u64)> = Vec::new();
        for row in rows {
            let seen = row.features.as_ref().and_then(|found| model_input(self.model, found));
            if let Some(seen) = seen {
                answers.push((self.raw(&seen)?, row.human, row.fold_index(Split::Random, SEED)));
            }
        }
        let humans = answers.iter().filter(|(_, human, _)| *human).count();
        if humans < LEAST || answers.len() - humans < LEAST {
            return Err(Error::Training(format!(
                "calibration needs {LEAST} humans and {LEAST} Sybils with data for {}; the labels have \
                 {humans} and {}",
                self.card.model,
                answers.len() - humans
            )));
        }
        let fitted = |left_out: Option<u64>| {
            let kept = answers.iter().filter(|(.., fold)| Some(*fold) != left_out);
            Curve::fit(&kept.map(|(raw, human, _)| (*raw, *human)).collect::<Vec<_>>())
        };
        let curves: Vec<Curve> = (0..FOLDS).map(|fold| fitted(Some(fold))).collect();
        let judged: Vec<(Option<f64>, bool)> = answers
            .iter()
            .map(|(raw, human, fold)| {
                let curve = curves[usize::try_from(*fold).unwrap_or(0)];
                (Some(curve.probability(*raw)), *human)
            })
            .collect();
        self.card.calibration = fitted(None);
        let told: Vec<(f64, bool)> = answers.iter().map(|(raw, human, _)| (*raw, *human)).collect();
        self.card.weight = self.card.weight.or_else(|| Some(information(&told, self.card.calibration)));
        self.card.quality = metrics::measure(&judged);
        Ok(())
    }
}

/// Features of a wallet that a custom model reads; `None` means too little data.
pub fn model_input(model: Model, found: &Features) -> Option<Vec<f32>> {
    match model.scope() {
        Some(scope) => found.scope_input(scope).map(|seen| seen.to_vec()),
        // Like the built-in aggregate: at least one of the scopes must have data.
        None => Model::single()
            .filter_map(Model::scope)
            .any(|scope| found.scopes.iter().any(|(known, _)| *known == scope))
            .then(|| found.wallet.clone()),
    }
}

#[cfg(test)]
mod tests;
