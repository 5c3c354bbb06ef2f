//! Differences between two answered scores of an address.

use std::collections::BTreeMap;

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::score::KeptWeight;
use pyxis_http::openapi::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{Error, Result};
use crate::values::Amount;

/// A score as it was answered.
pub(super) struct HistoricScore {
    /// Time of its computation.
    pub(super) at: UnixMillis,
    record: Record,
}

#[derive(Deserialize)]
struct Record {
    score: Decimal,
    passing_score: bool,
    threshold: Decimal,
    stamps: BTreeMap<String, StampEntry>,
}

#[derive(Deserialize)]
struct StampEntry {
    score: Decimal,
    dedup: bool,
    expiration_date: String,
}

/// A score without its Stamps.
#[derive(Serialize, ToSchema)]
pub(super) struct ScoreState {
    #[schema(value_type = Amount)]
    score: Decimal,
    passing_score: bool,
    #[schema(value_type = Amount)]
    threshold: Decimal,
}

impl HistoricScore {
    pub(super) fn read(at: UnixMillis, record: &str) -> Result<Self> {
        let record = serde_json::from_str(record).map_err(|error| Error::Internal(error.into()))?;
        Ok(Self { at, record })
    }

    pub(super) fn state(&self) -> ScoreState {
        let Record { score, passing_score, threshold, .. } = self.record;
        ScoreState { score, passing_score, threshold }
    }
}

/// Kind of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ScoreChangeCause)]
pub(super) enum CauseKind {
    /// The first answer for this address.
    FirstAnswer,
    /// A Stamp was added.
    StampAdded,
    /// A Stamp expired.
    StampExpired,
    /// The issuer revoked a Stamp, or its holder removed it.
    StampRemoved,
    /// Another address holds the account of a Stamp.
    ClaimedByAnotherAddress,
    /// The other address's claim ended.
    ClaimEnded,
    /// The scorer's weight of a Stamp changed.
    WeightChanged,
    /// A renewed Stamp no longer keeps an earlier weight.
    KeptWeightEnded,
    /// The scorer's threshold changed.
    ThresholdChanged,
    /// Everything about the address was erased.
    Erased,
}

/// Why a score changed.
#[derive(Serialize, ToSchema)]
pub(super) struct ChangeCause {
    cause: CauseKind,
    /// Name of the Stamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stamp: Option<String>,
    /// Time of the expiry, or end of the other address's claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Time>, nullable = false)]
    at: Option<String>,
    /// Contribution or threshold before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Amount>, nullable = false)]
    before: Option<Decimal>,
    /// Contribution or threshold after.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Amount>, nullable = false)]
    after: Option<Decimal>,
}

impl ChangeCause {
    const fn new(cause: CauseKind) -> Self {
        Self { cause, stamp: None, at: None, before: None, after: None }
    }

    pub(super) const fn first_answer() -> Self {
        Self::new(CauseKind::FirstAnswer)
    }

    pub(super) const fn erased() -> Self {
        Self::new(CauseKind::Erased)
    }

    pub(super) fn without_amounts(self) -> Self {
        Self { before: None, after: None, ..self }
    }
}

/// Every difference that moved the score or its result, by Stamp. The threshold comes last.
pub(super) fn causes(before: &HistoricScore, after: &HistoricScore, kept: &[KeptWeight]) -> Vec<ChangeCause> {
    let (old, new) = (&before.record, &after.record);
    let mut names: Vec<&String> = old.stamps.keys().chain(new.stamps.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let stamp = |name: &String| of_stamp(name, (old.stamps.get(name), new.stamps.get(name)), kept, after.at);
    let mut found: Vec<ChangeCause> = names.into_iter().filter_map(stamp).collect();
    if old.threshold != new.threshold {
        found.push(ChangeCause {
            before: Some(old.threshold),
            after: Some(new.threshold),
            ..ChangeCause::new(CauseKind::ThresholdChanged)
        });
    }
    found
}

fn of_stamp(
    name: &str,
    (old, new): (Option<&StampEntry>, Option<&StampEntry>),
    kept: &[KeptWeight],
    now: UnixMillis,
) -> Option<ChangeCause> {
    let was_kept =
        |old: &StampEntry| kept.iter().any(|one| one.provider.as_str() == name && one.weight == old.score);
    let expired =
        |entry: &StampEntry| UnixMillis::parse_rfc3339(&entry.expiration_date).is_some_and(|at| at <= now);
    let (kind, at) = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => (CauseKind::StampAdded, None),
        // The date of a deduplicated Stamp is that of the other address's claim.
        (Some(old), None) if !old.dedup && expired(old) => {
            (CauseKind::StampExpired, Some(&old.expiration_date))
        }
        (Some(_), None) => (CauseKind::StampRemoved, None),
        (Some(old), Some(new)) => match (old.dedup, new.dedup) {
            (false, true) => (CauseKind::ClaimedByAnotherAddress, Some(&new.expiration_date)),
            (true, false) => (CauseKind::ClaimEnded, None),
            _ if new.score < old.score && new.expiration_date != old.expiration_date && was_kept(old) => {
                (CauseKind::KeptWeightEnded, None)
            }
            _ if old.score != new.score => (CauseKind::WeightChanged, None),
            _ => return None,
        },
    };
    Some(ChangeCause {
        stamp: Some(name.to_owned()),
        at: at.cloned(),
        before: old.map(|entry| entry.score),
        after: new.map(|entry| entry.score),
        ..ChangeCause::new(kind)
    })
}
