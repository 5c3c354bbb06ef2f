//! Terms of a scorer that apply from a later moment.

use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ScorerChangeId, ScorerId};
use pyxis_core::score::Weights;
use pyxis_store::audit::{AuditedStore, Change};
use pyxis_store::scorer_changes::{self, ScorerChangeRow};
use serde_json::json;

use super::{Error, Result};
use crate::terms_in_force;

/// Longest time between scheduling a change and its moment.
const MAX_NOTICE: Duration = Duration::from_hours(366 * 24);
/// Maximum number of changes that wait at once, for each scorer.
const MAX_WAITING: usize = 20;

/// Changes to a scorer; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct ScorerPatch {
    pub name: Option<String>,
    pub threshold: Option<Decimal>,
    /// The complete new weights.
    pub weights: Option<Weights>,
    /// True if credentials issued before keep a weight that this lowers, until they expire.
    pub keep_until_expiry: bool,
    /// First moment of the threshold and weights; `None`: now.
    pub effective_from: Option<UnixMillis>,
    /// The revision that was read. Required with a threshold or weights, and must still be current.
    pub revision: Option<i64>,
    /// Scheduled changes before `effective_from` that were read, which must still be the same. `None`: any.
    pub scheduled: Option<Vec<ScorerChangeId>>,
}

/// Checks the moment of a change, and that it has something to keep.
pub(super) fn check_moment(patch: &ScorerPatch, now: UnixMillis) -> Result<()> {
    if patch.keep_until_expiry && patch.weights.is_none() {
        return Err(Error::field("keep_until_expiry", "send it with weights"));
    }
    let Some(at) = patch.effective_from else { return Ok(()) };
    if patch.threshold.is_none() && patch.weights.is_none() {
        return Err(Error::field("effective_from", "send it with a threshold or weights"));
    }
    check_start(at, now)
}

/// Checks the first moment of a change.
pub fn check_start(at: UnixMillis, now: UnixMillis) -> Result<()> {
    if at <= now || at > now.plus(MAX_NOTICE) {
        let message = "a time from now until 366 days later; leave it out to change the scorer now";
        return Err(Error::field("effective_from", message));
    }
    Ok(())
}

/// Stores a change for its moment and commits.
pub(super) async fn schedule(
    mut change: Change<'_>,
    id: ScorerId,
    patch: ScorerPatch,
    effective_from: UnixMillis,
    now: UnixMillis,
) -> Result<()> {
    let workspace = change.actor.workspace;
    let read = patch.revision.ok_or_else(|| {
        Error::field("revision", "send the revision of weights and threshold that you have read")
    })?;
    let revision = scorer_changes::hold(&mut change.tx, workspace, id).await?;
    let revision = revision.ok_or(Error::not_found("scorer"))?;
    if revision != read {
        return Err(Error::Changed { revision });
    }
    let all = scorer_changes::list(&mut change.tx, workspace, id).await?;
    let waiting = || all.iter().filter(|one| one.applied_at.is_none());
    let earlier = || waiting().filter(|one| one.effective_from < effective_from).map(|one| &one.id);
    if patch.scheduled.as_ref().is_some_and(|read| !earlier().eq(read)) {
        return Err(Error::Conflict(
            "another change was scheduled or withdrawn meanwhile; read the scorer again",
        ));
    }
    if waiting().count() >= MAX_WAITING {
        return Err(Error::Conflict("20 changes of this scorer wait already; withdraw one first"));
    }
    if waiting().any(|one| one.effective_from == effective_from) {
        return Err(Error::Conflict("another change is scheduled for this moment; withdraw it first"));
    }
    let row = ScorerChangeRow {
        id: ScorerChangeId::new(now, &OsEntropy),
        effective_from,
        threshold: patch.threshold,
        weights: patch.weights,
        keep_until_expiry: patch.keep_until_expiry,
        created_at: now,
        created_by: change.actor.name.clone(),
        applied_at: None,
        kept: Vec::new(),
    };
    scorer_changes::insert(&mut change.tx, workspace, id, &row).await?;
    let detail = json!({
        "scorer": id, "name": patch.name, "change": row.id, "effective_from": effective_from.to_rfc3339(),
        "threshold": row.threshold, "weights": row.weights, "keep_until_expiry": row.keep_until_expiry,
    });
    Ok(change.commit(AuditEvent::ScorerChangeScheduled, detail).await?)
}

/// Withdraws a change before its moment.
pub async fn withdraw(db: &AuditedStore, actor: &Actor, id: ScorerId, which: ScorerChangeId) -> Result<()> {
    let now = db.now();
    let found = terms_in_force::find(&db.store, actor.workspace, id, now).await?;
    found.ok_or(Error::not_found("scorer"))?;
    let mut change = db.begin(actor).await?;
    scorer_changes::hold(&mut change.tx, actor.workspace, id).await?;
    let withdrawn = scorer_changes::withdraw(&mut change.tx, actor.workspace, id, which, now).await?;
    let row = withdrawn.ok_or(Error::not_found("scheduled change"))?;
    let detail = json!({ "scorer": id, "change": row.id, "effective_from": row.effective_from.to_rfc3339() });
    Ok(change.commit(AuditEvent::ScorerChangeWithdrawn, detail).await?)
}
