//! Bundles of trained models: the unit that is installed and that scores.

use pyxis_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::calibration::sigmoid;
use crate::card::Card;
use crate::custom::{self, Custom, CustomCard};
use crate::explanation::{Contribution, Explanation};
use crate::family::{Family, FamilyHead};
use crate::features::{self, Features};
use crate::scope::Model;

const MAGIC: &[u8; 4] = b"PXM1";
/// Weight of a model for activity without labels, relative to its weight for labeled activity.
const TRANSFERRED_WEIGHT: f64 = 0.5;
/// Models that were trained together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The bundle's description of itself.
    pub card: Card,
    /// Models for wallets with known counterparties: imported ones.
    pub with_context: Family,
    /// Models for wallets that only an indexer knows. If absent, `with_context` is used.
    pub indexer_only: Option<Family>,
    /// Custom models, at most one for each model of the API. They take precedence.
    pub customs: Vec<Custom>,
    /// True if all models but the custom ones come with the program: the next release's models then replace them.
    pub of_program: bool,
}

/// The answer of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single {
    pub model: Model,
    /// Calibrated log odds of being human.
    pub log_odds: f64,
    /// Weight in the aggregate; all weights add up to 1.
    pub weight: f64,
    /// True if it was trained without labels of this activity.
    pub transferred: bool,
    /// True for a custom model.
    pub custom: bool,
}

/// The answers of all models that had data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// The models that read activity.
    pub singles: Vec<Single>,
    /// The log odds of the aggregate.
    pub aggregate: Option<f64>,
}

/// The score of log odds: 0 to 100, two decimals.
pub fn score(log_odds: f64) -> f64 {
    (sigmoid(log_odds) * 1e4).round() / 1e2
}

impl Scores {
    /// The score of a model; `None` means too little data (-1).
    pub fn get(&self, model: Model) -> Option<f64> {
        match model {
            Model::Aggregate => self.aggregate.map(score),
            single => {
                self.singles.iter().find(|found| found.model == single).map(|found| score(found.log_odds))
            }
        }
    }
}

impl Bundle {
    /// The answers of every model with enough data about a wallet. Only a custom model can fail.
    pub fn scores(&self, found: &Features) -> Result<Scores, Error> {
        let mut singles = Vec::new();
        for model in Model::single() {
            singles.extend(self.single(model, found)?);
        }
        let total: f64 = singles.iter().map(|single: &Single| single.weight).sum();
        if singles.is_empty() || total <= 0.0 {
            return Ok(Scores { singles, aggregate: None });
        }
        for single in &mut singles {
            single.weight /= total;
        }
        let aggregate = match self.custom(Model::Aggregate) {
            Some(custom) => custom.log_odds(&found.wallet)?,
            None => self.family(found).aggregate.log_odds(mean(&singles)),
        };
        Ok(Scores { singles, aggregate: Some(aggregate) })
    }

    fn single(&self, model: Model, found: &Features) -> Result<Option<Single>, Error> {
        let Some(seen) = model.scope().and_then(|scope| found.scope_input(scope)) else { return Ok(None) };
        let part = self.family(found).part(model);
        let weight =
            part.map_or(
                0.0,
                |(part, transferred)| {
                    if transferred { part.weight * TRANSFERRED_WEIGHT } else { part.weight }
                },
            );
        if let Some(custom) = self.custom(model) {
            let (log_odds, weight) = (custom.log_odds(&seen)?, custom.card.weight.unwrap_or(weight));
            return Ok(Some(Single { model, log_odds, weight, transferred: false, custom: true }));
        }
        Ok(part.map(|(part, transferred)| {
            let log_odds = part.curve.log_odds(part.forest.predict(&seen));
            Single { model, log_odds, weight, transferred, custom: false }
        }))
    }

    /// The custom model that answers for a model, if there is one.
    pub fn custom(&self, model: Model) -> Option<&Custom> {
        self.customs.iter().find(|custom| custom.model == model)
    }

    /// Adds a custom model, replacing any other that answers for the same model.
    pub fn add(&mut self, custom: Custom) {
        self.customs.retain(|other| other.model != custom.model);
        self.customs.push(custom);
        self.customs.sort_by_key(|custom| custom.model as u8);
    }

    /// The models for a wallet.
    fn family(&self, found: &Features) -> &Family {
        self.indexer_only.as_ref().filter(|_| !found.knows_company()).unwrap_or(&self.with_context)
    }

    /// Explains a model's answer; `None` for the aggregate, unless it is a custom model.
    pub fn explain(&self, model: Model, found: &Features) -> Result<Option<Explanation>, Error> {
        match self.custom(model) {
            Some(custom) => custom::model_input(model, found).map(|seen| custom.explain(&seen)).transpose(),
            None => Ok(self.explain_part(model, found)),
        }
    }

    fn explain_part(&self, model: Model, found: &Features) -> Option<Explanation> {
        let (part, _) = self.family(found).part(model)?;
        let seen = found.scope_input(model.scope()?)?;
        let (moved, start) = part.forest.explain(&seen);
        let slope = part.curve.slope;
        let every = moved.iter().enumerate().map(|(feature, moved)| Contribution {
            feature,
            value: seen[feature],
            moved: moved * slope,
        });
        let mut contributions: Vec<Contribution> = every.filter(|entry| entry.moved != 0.0).collect();
        contributions.sort_by(|one, other| other.moved.abs().total_cmp(&one.moved.abs()));
        Some(Explanation { start: part.curve.log_odds(start), contributions })
    }

    /// Fingerprint of the models, independent of the training date: the SHA-256 of trees and curves.
    pub fn fingerprint(&self) -> String {
        let mut sum = Sha256::new();
        self.with_context.digest(&mut sum);
        if let Some(alone) = &self.indexer_only {
            alone.digest(&mut sum);
        }
        for custom in &self.customs {
            let CustomCard { model, file_sha256, calibration, weight, unknown, human_column, .. } =
                &custom.card;
            let used = format!("{model} {file_sha256} {calibration:?} {weight:?} {unknown:?} {human_column}");
            sum.update(used);
        }
        hex::encode(&sum.finalize())
    }

    /// Serializes the bundle. Built-in models are not written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let nothing = Family { parts: Vec::new(), aggregate: self.with_context.aggregate };
        let (company, alone) =
            if self.of_program { (&nothing, None) } else { (&self.with_context, self.indexer_only.as_ref()) };
        let (company, mut forests) = company.to_parts();
        let (alone, more) = alone.map(Family::to_parts).unzip();
        forests.extend(more.unwrap_or_default());
        let head = BundleHeader {
            features: features::ALL,
            card: self.card.clone(),
            company,
            alone,
            customs: self
                .customs
                .iter()
                .map(|custom| CustomHead { card: custom.card.clone(), bytes: custom.file().len() })
                .collect(),
        };
        // Numbers and texts: conversion to JSON cannot fail.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(head);
        bytes.extend(forests);
        for custom in &self.customs {
            bytes.extend(custom.file());
        }
        bytes
    }

    /// Deserializes the output of [`Bundle::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = || Error::unreadable("the model file", "it is damaged");
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| Error::unreadable("the model file", "it is not a model file"))?;
        let (length, rest) = rest.split_at_checked(4).ok_or_else(damaged)?;
        let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (head, mut rest) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let head: BundleHeader = serde_json::from_slice(head)
            .map_err(|error| Error::unreadable("the model file", error.to_string()))?;
        // Bundles trained before the card named its features are accepted by their number of features.
        let named = head.card.features_sha256.as_ref();
        let others = named.is_some_and(|names| *names != features::names_digest());
        // A bundle without parts uses the built-in ones, and their card.
        let own = !head.company.parts.is_empty();
        if head.features != features::ALL || (others && own) {
            return Err(Error::unreadable(
                "the model file",
                "it was made for other features; train it again",
            ));
        }
        let (company, after) = Family::from_parts(head.company, rest)?;
        rest = after;
        let mut alone = None;
        if let Some(head) = head.alone {
            let (found, after) = Family::from_parts(head, rest)?;
            (alone, rest) = (Some(found), after);
        }
        let mut customs = Vec::new();
        for CustomHead { card, bytes } in head.customs {
            let (file, after) = rest.split_at_checked(bytes).ok_or_else(damaged)?;
            rest = after;
            customs.push(Custom::restore(card, file)?);
        }
        if !rest.is_empty() {
            return Err(damaged());
        }
        if !own {
            return Ok(Self { customs, ..crate::built_in()? });
        }
        Ok(Self { card: head.card, with_context: company, indexer_only: alone, customs, of_program: false })
    }
}

/// The weighted mean of log odds.
pub(crate) fn mean(singles: &[Single]) -> f64 {
    let total: f64 = singles.iter().map(|single| single.weight).sum();
    singles.iter().map(|single| single.weight * single.log_odds).sum::<f64>() / total
}

#[derive(Serialize, Deserialize)]
struct BundleHeader {
    features: usize,
    card: Card,
    #[serde(flatten)]
    company: FamilyHead,
    /// Absent in files from before wallets known only to an indexer had their own models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alone: Option<FamilyHead>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    customs: Vec<CustomHead>,
}

#[derive(Serialize, Deserialize)]
struct CustomHead {
    card: CustomCard,
    bytes: usize,
}
