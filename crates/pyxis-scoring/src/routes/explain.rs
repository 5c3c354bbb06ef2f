//! `?explain=true`: the reasons for a score.

use std::collections::BTreeMap;

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_http::openapi::Time;
use pyxis_store::scorers;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::scoring_db::ScoringDb;
use crate::values::Amount;

/// The record plus `explain`.
#[derive(Serialize)]
struct ExplainedScore<'a> {
    #[serde(flatten)]
    record: BTreeMap<&'a str, &'a RawValue>,
    explain: ScoreExplanation,
}

/// With `explain=true`.
#[derive(Serialize, ToSchema)]
pub(super) struct ScoreExplanation {
    /// Revision of the scorer's weights and threshold.
    revision: i64,
    #[schema(value_type = Amount)]
    threshold: Decimal,
    /// Amount by which the score passes, or falls short (negative).
    margin: String,
    /// Next time at which the score changes without any event; null if never.
    #[schema(value_type = Option<Time>, required)]
    valid_until: Option<String>,
    stamps: BTreeMap<String, ExplainedStamp>,
}

#[derive(Serialize, ToSchema)]
struct ExplainedStamp {
    #[schema(value_type = Amount)]
    weight: Decimal,
    #[schema(value_type = Amount)]
    contribution: Decimal,
    reason: &'static str,
    /// With an earlier weight: the time until which the Stamp keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Time>, nullable = false)]
    kept_until: Option<String>,
}

/// Adds to `body`, the score at `now`, each Stamp's contribution and its reason.
pub(super) async fn explained(
    db: &ScoringDb,
    place: ScoreKey,
    body: &str,
    now: UnixMillis,
) -> Result<String> {
    let record = serde_json::from_str(body).map_err(|error| Error::Internal(error.into()))?;
    let (terms, settled) = engine::preview(db, place, now).await?;
    let scorer = scorers::find(&**db, place.workspace, place.scorer).await?;
    let next = scorer.and_then(|scorer| scorer.next_change_at).unwrap_or(UnixMillis(i64::MAX));
    let until = settled.valid_until.min(next);
    let stamps = settled.stamps.iter().map(|entry| {
        let weight = terms.weights.get(&entry.provider).copied().unwrap_or_default();
        let keeps = entry.score > weight;
        let reason = match (entry.dedup, weight) {
            (true, _) => "another address verified the same credential first",
            (false, _) if keeps => "keeps an earlier weight until it expires",
            (false, Decimal::ZERO) => "this scorer gives the Stamp no weight",
            (false, _) => "counts",
        };
        let kept_until = keeps.then(|| entry.expires_at.to_iso_micros());
        let line = ExplainedStamp { weight, contribution: entry.score, reason, kept_until };
        (entry.provider.to_string(), line)
    });
    let explain = ScoreExplanation {
        revision: terms.revision,
        threshold: terms.threshold,
        margin: Decimal::from_units(settled.score.units() - terms.threshold.units()).to_string(),
        valid_until: (until < UnixMillis(i64::MAX)).then(|| until.to_iso_micros()),
        stamps: stamps.collect(),
    };
    serde_json::to_string(&ExplainedScore { record, explain }).map_err(|error| Error::Internal(error.into()))
}
