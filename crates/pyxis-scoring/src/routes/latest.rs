//! The score record: its description, and how the latest one is found.

use std::collections::BTreeMap;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::stored_to_json;
use pyxis_http::openapi::Time;
use pyxis_store::scores::{self, ScorerHead, Stored};
use pyxis_store::{Store, addresses, scorers};
use utoipa::ToSchema;

use super::explain::ScoreExplanation;
use crate::engine::{self, ScoreKey};
use crate::error::{Error, Result};
use crate::score_metrics::METRICS;
use crate::scoring_db::ScoringDb;
use crate::terms_in_force;
use crate::values::{Address, Amount, AnyObject, MicroTime};

/// A score, as [`stored_to_json`] writes it.
#[derive(ToSchema)]
#[schema(as = Score, example = json!({
    "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
    "score": "32.78300",
    "passing_score": true,
    "last_score_timestamp": "2026-01-31T09:05:00.250000+00:00",
    "expiration_timestamp": "2026-05-01T09:00:00.000000+00:00",
    "threshold": "20.00000",
    "error": null,
    "stamps": {
        "Discord": {"score": "0.51600", "dedup": false, "expiration_date": "2026-05-01T09:00:00.000000+00:00"},
        "NFTScore#50": {"score": "16.24600", "dedup": false, "expiration_date": "2026-05-08T09:00:00.000000+00:00"},
        "ETHScore#50": {"score": "16.02100", "dedup": false, "expiration_date": "2026-05-08T09:00:00.000000+00:00"}
    }
}))]
#[expect(dead_code, reason = "the record is written as text; this is its description")]
pub(super) struct ScoreBody {
    #[schema(value_type = Address)]
    address: String,
    #[schema(value_type = Amount)]
    score: String,
    /// True if the score is at least the threshold.
    passing_score: bool,
    #[schema(value_type = MicroTime)]
    last_score_timestamp: String,
    /// Time at which the first contributing Stamp expires; null if none contributes.
    #[schema(value_type = Option<Time>, required)]
    expiration_timestamp: Option<String>,
    #[schema(value_type = Amount)]
    threshold: String,
    /// Null, unless the score could be computed only in part.
    #[schema(required, example = json!(null))]
    error: Option<String>,
    /// By name.
    stamps: BTreeMap<String, StampScore>,
    #[schema(nullable = false)]
    explain: Option<ScoreExplanation>,
    /// With `signed=jwt`.
    #[schema(nullable = false)]
    jwt: Option<String>,
    /// With `signed=eip712`: 65 bytes in hex.
    #[schema(nullable = false)]
    signature: Option<String>,
    /// With `signed=eip712`: the address of the key.
    #[schema(nullable = false)]
    signer: Option<String>,
    /// With `signed=eip712`: domain, types and message, as wallets and libraries take them.
    #[schema(value_type = Option<AnyObject>, nullable = false)]
    typed_data: Option<()>,
    /// With `signed=eas`: the attestation, as EAS' SDK verifies it.
    #[schema(value_type = Option<AnyObject>, nullable = false)]
    attestation: Option<()>,
    /// With `signed=eas`: `to`, `data` and `value` of a transaction that attests the score on chain.
    #[schema(value_type = Option<AnyObject>, nullable = false)]
    transaction: Option<()>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
struct StampScore {
    /// Contribution of the Stamp, with five decimals.
    #[schema(example = "0.51600")]
    score: String,
    /// True if another address verified the same credential first. Then the Stamp contributes 0.
    dedup: bool,
    /// Expiry of the credential; with `dedup`, that of the other address's credential.
    #[schema(value_type = Time)]
    expiration_date: String,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
pub(super) struct Scores {
    items: Vec<ScoreBody>,
}

/// The record of a stored score, which the first response makes history. A damaged one is recomputed.
pub(super) async fn stored_record(
    db: &ScoringDb,
    place: ScoreKey,
    terms: ScorerHead,
    stored: Stored,
    now: UnixMillis,
) -> Result<String> {
    let ScoreKey { workspace, scorer, address } = place;
    let Ok(record) = stored_to_json(address, stored.body) else {
        return computed(db, place, terms, now).await;
    };
    if stored.in_history
        || scores::mark_in_history(db, workspace, scorer, address, stored.computed_at).await?
    {
        METRICS.stored.increment(1);
        return Ok(record);
    }
    // Another request was first, or another score replaced it and is now the answer.
    let stored = scores::fresh(&**db, workspace, scorer, address, now).await?;
    let record = stored.filter(|stored| stored.in_history).map(|stored| stored_to_json(address, stored.body));
    match record {
        Some(Ok(record)) => {
            METRICS.stored.increment(1);
            Ok(record)
        }
        Some(Err(_)) | None => computed(db, place, terms, now).await,
    }
}

/// Computes the score and returns it. For an address that never had a Stamp, nothing is stored.
pub(super) async fn computed(
    db: &ScoringDb,
    place: ScoreKey,
    terms: ScorerHead,
    now: UnixMillis,
) -> Result<String> {
    METRICS.computed.increment(1);
    let known = addresses::is_known(&**db, place.workspace, place.address).await?;
    let computed = if known { engine::score(db, place, now, true).await? } else { None };
    Ok(computed.unwrap_or_else(|| engine::score_without_stamps(place.address, terms.threshold, now)))
}

/// The scorer, if the workspace has it.
pub(super) async fn known_scorer(
    store: &Store,
    now: UnixMillis,
    workspace: WorkspaceId,
    scorer: ScorerId,
) -> Result<scorers::ScorerRow> {
    terms_in_force::find(store, workspace, scorer, now).await?.ok_or(Error::NoScorer)
}

/// The terms that a request looked up, or those in force if a scheduled change is due.
pub(super) async fn in_force(
    store: &Store,
    workspace: WorkspaceId,
    scorer: ScorerId,
    found: Option<ScorerHead>,
    now: UnixMillis,
) -> Result<ScorerHead> {
    let found = found.ok_or(Error::NoScorer)?;
    if !found.is_due(now) {
        return Ok(found);
    }
    let row = terms_in_force::find(store, workspace, scorer, now).await?.ok_or(Error::NoScorer)?;
    Ok((&row).into())
}

/// The body of the latest score, computed if necessary, and marked as answered.
pub(super) async fn current(
    db: &ScoringDb,
    place: ScoreKey,
    terms: ScorerHead,
    now: UnixMillis,
) -> Result<String> {
    let stored = scores::of_many(&**db, place.workspace, place.scorer, &[place.address]).await?.pop();
    match stored.map(|found| found.stored) {
        Some(stored) if stored.is_fresh(terms.revision, now) => {
            stored_record(db, place, terms, stored, now).await
        }
        _ => computed(db, place, terms, now).await,
    }
}
