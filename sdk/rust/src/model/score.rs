//! Scores of addresses.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// The score of an address in a scorer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Score {
    /// In lower case.
    pub address: String,
    #[serde(with = "rust_decimal::serde::str")]
    pub score: Decimal,
    /// True if the score is at least the threshold.
    pub passing_score: bool,
    #[serde(with = "rust_decimal::serde::str")]
    pub threshold: Decimal,
    pub last_score_timestamp: Timestamp,
    /// Expiry of the first contributing Stamp; `None` if none contributes.
    pub expiration_timestamp: Option<Timestamp>,
    /// `None`, unless the score could be computed only in part.
    pub error: Option<String>,
    pub stamps: BTreeMap<String, StampScore>,
    /// The arithmetic, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<ScoreExplanation>,
}

/// The part of one Stamp in a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StampScore {
    #[serde(with = "rust_decimal::serde::str")]
    pub score: Decimal,
    /// True if another address verified the same credential first. Then the Stamp contributes 0.
    pub dedup: bool,
    /// Expiry of the credential; with `dedup`, that of the other address's credential.
    pub expiration_date: Timestamp,
}

/// The arithmetic of a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScoreExplanation {
    pub revision: i64,
    #[serde(with = "rust_decimal::serde::str")]
    pub threshold: Decimal,
    /// Amount by which the score passes, or falls short (negative).
    #[serde(with = "rust_decimal::serde::str")]
    pub margin: Decimal,
    /// Next time at which the score changes without any event; `None` if never.
    pub valid_until: Option<Timestamp>,
    pub stamps: BTreeMap<String, ExplainedStamp>,
}

/// The reason for one Stamp's contribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedStamp {
    #[serde(with = "rust_decimal::serde::str")]
    pub weight: Decimal,
    #[serde(with = "rust_decimal::serde::str")]
    pub contribution: Decimal,
    pub reason: String,
}

/// An entry of a batch that has no score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedScore {
    /// The entry as it was sent, shortened to 100 characters.
    pub address: String,
    pub error: FailedScoreReason,
}

/// The reason that an entry has no score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FailedScoreReason {
    /// Position in the list of addresses, from 0.
    pub index: usize,
    /// `invalid_address`.
    pub code: String,
    pub detail: String,
}

/// An item of a batch. The error of a failed one is an object, that of a score is null or a text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum ScoreEntry {
    Failed(FailedScore),
    Score(Box<Score>),
}

/// Items in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ScoreEntries {
    pub items: Vec<ScoreEntry>,
}

/// Scores in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scores {
    pub items: Vec<Score>,
}
