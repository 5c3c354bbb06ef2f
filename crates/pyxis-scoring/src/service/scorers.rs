//! Scorers: their weights and threshold.

use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::catalogue::default_weights;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::Weights;
use pyxis_core::stamp::StampName;
use pyxis_store::audit::{AuditedStore, Change};
use pyxis_store::scorers::{self, ScorerRow, Terms};
use pyxis_store::{Store, addresses, leases, scorer_changes, scores};
use serde_json::{Value, json};

use super::lease::Lease;
use super::scorer_changes::{check_moment, schedule};
use super::{Error, MAX_NAME, Result, check_text, sandbox_stamps};
use crate::engine;
use crate::score_metrics::METRICS;
use crate::scoring_db::ScoringDb;
use crate::state::State;
use crate::terms_in_force;

pub use super::scorer_changes::ScorerPatch;
pub use pyxis_store::scorer_changes::ScorerChangeRow as ScheduledChange;

/// Maximum number of Stamps that a scorer weighs.
pub const MAX_WEIGHTS: usize = 2000;
/// Interval between checks of work in progress elsewhere.
const WAIT: Duration = Duration::from_secs(1);

/// A scorer as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scorer {
    pub id: ScorerId,
    pub name: String,
    /// Threshold and weights in force.
    pub terms: Terms,
    /// Changes that are not in force yet, in their order.
    pub scheduled: Vec<ScheduledChange>,
    pub created_at: UnixMillis,
}

impl Scorer {
    /// Scheduled changes that take effect before a moment.
    pub fn scheduled_before(&self, moment: UnixMillis) -> impl Iterator<Item = &ScheduledChange> {
        self.scheduled.iter().filter(move |change| change.effective_from < moment)
    }

    /// Terms that will be in force until a moment.
    pub fn terms_before(&self, moment: UnixMillis) -> Terms {
        scorer_changes::after_all(self.terms.clone(), self.scheduled_before(moment).cloned())
    }
}

/// Settings of a new scorer.
#[derive(Clone, Debug)]
pub struct ScorerInput {
    /// Need not be unique.
    pub name: String,
    /// The score needed to pass; `None`: the published one.
    pub threshold: Option<Decimal>,
    /// Each Stamp's weight; `None`: as published.
    pub weights: Option<Weights>,
}

/// Progress of a scorer's stored scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rescore {
    /// Stored scores.
    pub stored: i64,
    /// Stale scores. A request for one of them gets the correct score anyway.
    pub outdated: i64,
    /// Stale ones that are addresses without a stored score, of a scorer that is open to votes.
    pub unscored: i64,
    /// True if a node is recomputing them.
    pub running: bool,
}

pub async fn create(db: &AuditedStore, actor: &Actor, input: ScorerInput) -> Result<Scorer> {
    check_text("name", &input.name, MAX_NAME)?;
    let defaults = default_weights();
    let threshold = input.threshold.unwrap_or(defaults.threshold);
    let weights = input.weights.as_ref().unwrap_or(&defaults.weights);
    check_weights(weights)?;
    sandbox_stamps::check_ordinary(weights)?;
    insert(db, actor, &input.name, threshold, weights).await
}

/// Creates a scorer whose terms were checked.
pub(super) async fn insert(
    db: &AuditedStore,
    actor: &Actor,
    name: &str,
    threshold: Decimal,
    weights: &Weights,
) -> Result<Scorer> {
    let mut change = db.begin(actor).await?;
    let now = db.now();
    let id = scorers::insert(&mut change.tx, actor.workspace, name, threshold, weights, now).await?;
    let detail = json!({ "scorer": id, "name": name, "threshold": threshold, "weights": weights });
    change.commit(AuditEvent::ScorerCreated, detail).await?;
    get(&db.store, actor.workspace, id, now).await
}

/// Every scorer of a workspace, without weights.
pub async fn list(store: &Store, workspace: WorkspaceId, now: UnixMillis) -> Result<Vec<ScorerRow>> {
    Ok(terms_in_force::list(store, workspace, now).await?)
}

/// The refusal of a scorer that does not exist, with those that do.
pub(super) async fn missing(store: &Store, workspace: WorkspaceId, id: ScorerId, now: UnixMillis) -> Error {
    match list(store, workspace, now).await {
        Ok(all) => {
            let known = all.iter().map(|scorer| format!("{} ({})", scorer.id, scorer.name));
            Error::NotFound(Missing::among("scorer", id, known))
        }
        Err(error) => error,
    }
}

/// One scorer.
pub async fn get(store: &Store, workspace: WorkspaceId, id: ScorerId, now: UnixMillis) -> Result<Scorer> {
    let Some(row) = terms_in_force::find(store, workspace, id, now).await? else {
        return Err(missing(store, workspace, id, now).await);
    };
    let terms = scorers::terms(store, workspace, id).await?.ok_or(Error::not_found("scorer"))?;
    let changes = scorer_changes::list(store, workspace, id).await?;
    let scheduled = changes.into_iter().filter(|change| change.applied_at.is_none()).collect();
    Ok(Scorer { id, name: row.name, terms, scheduled, created_at: row.created_at })
}

/// Changes a scorer. Scores are updated at their next request, or by [`rescore`].
pub async fn update(db: &AuditedStore, actor: &Actor, id: ScorerId, patch: ScorerPatch) -> Result<Scorer> {
    if let Some(name) = &patch.name {
        check_text("name", name, MAX_NAME)?;
    }
    if let Some(weights) = &patch.weights {
        check_weights(weights)?;
    }
    let with_terms = patch.threshold.is_some() || patch.weights.is_some();
    let now = db.now();
    check_moment(&patch, now)?;
    terms_in_force::find(&db.store, actor.workspace, id, now).await?;
    let mut change = db.begin(actor).await?;
    let before = scorers::terms(&mut change.tx, actor.workspace, id).await?;
    let before = before.ok_or(Error::not_found("scorer"))?;
    if let Some(weights) = &patch.weights {
        sandbox_stamps::check_change(&before.weights, weights)?;
    }
    if let Some(name) = &patch.name {
        scorers::rename(&mut change.tx, actor.workspace, id, name).await?;
    }
    if patch.keep_until_expiry && before.kept.len() >= MAX_WEIGHTS {
        return Err(Error::Conflict(
            "2000 earlier weights are kept already; change the weights without keeping these",
        ));
    }
    if let Some(effective_from) = patch.effective_from {
        schedule(change, id, patch, effective_from, now).await?;
    } else if with_terms {
        change_terms(change, id, patch, before, now).await?;
    } else if patch.name.is_some() {
        change.commit(AuditEvent::ScorerRenamed, json!({ "scorer": id, "name": patch.name })).await?;
    }
    get(&db.store, actor.workspace, id, now).await
}

/// Changes weights and threshold at once.
async fn change_terms(
    mut change: Change<'_>,
    id: ScorerId,
    patch: ScorerPatch,
    before: Terms,
    now: UnixMillis,
) -> Result<()> {
    let read = patch.revision.ok_or_else(|| {
        Error::field("revision", "send the revision of weights and threshold that you have read")
    })?;
    let stored = before.revision;
    let keeps_from = patch.keep_until_expiry.then_some(now);
    let terms =
        Terms { revision: read, ..before }.changed(patch.threshold, patch.weights.clone(), keeps_from);
    let workspace = change.actor.workspace;
    let set = scorers::set_terms(&mut change.tx, workspace, id, &terms).await?;
    let revision = set.ok_or(Error::Changed { revision: stored })?;
    let detail = json!({
        "scorer": id, "name": patch.name, "revision": revision,
        "threshold": terms.threshold, "weights": patch.weights,
        "keep_until_expiry": patch.keep_until_expiry,
    });
    Ok(change.commit(AuditEvent::ScorerTermsChanged, detail).await?)
}

/// Gives one Stamp a weight in an open change, and returns the record of it; `None` if it has this weight already. The
/// caller commits, with [`AuditEvent::ScorerTermsChanged`].
pub(super) async fn set_weight(
    change: &mut Change<'_>,
    id: ScorerId,
    name: &StampName,
    weight: Decimal,
) -> Result<Option<Value>> {
    let workspace = change.actor.workspace;
    let before = scorers::terms(&mut change.tx, workspace, id).await?.ok_or(Error::not_found("scorer"))?;
    let mut weights = before.weights.clone();
    if weights.insert(name.clone(), weight) == Some(weight) {
        return Ok(None);
    }
    check_weights(&weights)?;
    sandbox_stamps::check_change(&before.weights, &weights)?;
    let stored = before.revision;
    let terms = before.changed(None, Some(weights), None);
    let set = scorers::set_terms(&mut change.tx, workspace, id, &terms).await?;
    let revision = set.ok_or(Error::Changed { revision: stored })?;
    Ok(Some(json!({
        "scorer": id, "name": null, "revision": revision,
        "threshold": terms.threshold, "weights": terms.weights, "keep_until_expiry": false,
    })))
}

/// Removes a scorer with its scores, history and claims. The scorer disappears at once. Its data is deleted in pieces,
/// so that no one waits for all of it. An interrupted removal leaves nothing visible, and the next one in the workspace
/// completes it.
pub async fn remove(db: &AuditedStore, actor: &Actor, id: ScorerId) -> Result<()> {
    mark_removed(db, actor, id).await?;
    // Runs to the end, even if no one waits for the response any more.
    let clearing = tokio::spawn(clear(db.store.clone(), actor.workspace));
    clearing.await.map_err(|error| Error::Internal(error.into()))?
}

/// Marks a scorer as removed. One that was marked before and is not fully deleted does not come back.
async fn mark_removed(db: &AuditedStore, actor: &Actor, id: ScorerId) -> Result<()> {
    let mut change = db.begin(actor).await?;
    let Some(row) = scorers::find(&mut change.tx, actor.workspace, id).await? else {
        let left = scorers::removed(&mut change.tx, actor.workspace).await?;
        return if left.contains(&id) { Ok(()) } else { Err(Error::not_found("scorer")) };
    };
    if scorers::remove(&mut change.tx, actor.workspace, id).await? {
        change.commit(AuditEvent::ScorerRemoved, json!({ "scorer": id, "name": row.name })).await?;
    }
    Ok(())
}

/// Deletes the remaining data of removed scorers.
async fn clear(store: Store, workspace: WorkspaceId) -> Result<()> {
    let piece = async |id| {
        let mut tx = store.begin().await?;
        let more = scorers::clear(&mut tx, workspace, id).await?;
        tx.commit().await?;
        Ok(Some(more))
    };
    for id in scorers::removed(&store, workspace).await? {
        while engine::retry_on_conflict(|| piece(id)).await? {}
    }
    Ok(())
}

/// Counts the stored scores that do not match the scorer's current terms. Reads every one of them. In a scorer that is
/// open to votes, addresses without a score count as stale too.
pub async fn progress(
    store: &ScoringDb,
    workspace: WorkspaceId,
    id: ScorerId,
    now: UnixMillis,
) -> Result<Rescore> {
    if terms_in_force::find(store, workspace, id, now).await?.is_none() {
        return Err(missing(store, workspace, id, now).await);
    }
    let found = scores::progress(&**store, workspace, id, now).await?;
    let running = leases::is_held(&**store, &lease_of(id), now).await?;
    let unscored = if store.is_open_to_votes(id) {
        addresses::count_without_score(&**store, workspace, id).await?
    } else {
        0
    };
    Ok(Rescore { stored: found.stored, outdated: found.outdated + unscored, unscored, running })
}

/// Recomputes stale scores and returns how many. `done` receives the number done. If another process is doing this,
/// waits and then handles what is left.
pub async fn rescore(state: &State, actor: &Actor, id: ScorerId, done: impl FnMut(u64)) -> Result<u64> {
    scorers::find(&state.store, actor.workspace, id).await?.ok_or(Error::not_found("scorer"))?;
    let lease = loop {
        match begin_rescore(state, actor, id).await? {
            Some(lease) => break lease,
            None => tokio::time::sleep(WAIT).await,
        }
    };
    let rescoring = engine::rescore(&state.db, actor.workspace, id, &*state.clock, done);
    Ok(lease.run_under_lease(rescoring).await.ok_or(Error::Busy)??)
}

/// Recomputes in the background of this node, on one node at a time; [`progress`] reports the state. If the node stops
/// meanwhile, the rest stays stale until requested.
pub async fn start_rescore(state: &State, actor: &Actor, id: ScorerId) -> Result<Rescore> {
    let found = progress(&state.db, actor.workspace, id, state.now()).await?;
    if found.outdated == 0 {
        return Ok(found);
    }
    let running = Rescore { running: true, ..found };
    let Some(lease) = begin_rescore(state, actor, id).await? else { return Ok(running) };
    let (state, workspace) = (state.clone(), actor.workspace);
    tokio::spawn(async move {
        let mut progress = METRICS.rescores.begin(found.outdated.unsigned_abs());
        let advance = |_| progress.advance();
        let rescoring = engine::rescore(&state.db, workspace, id, &*state.clock, advance);
        match Box::pin(lease.run_under_lease(rescoring)).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::warn!(%error, scorer = %id, "recomputing all scores was interrupted");
            }
            None => tracing::warn!(scorer = %id, "another process continues to recompute all scores"),
        }
    });
    Ok(running)
}

/// Acquires the lease and records who requested the work; `None` if it is already running.
async fn begin_rescore(state: &State, actor: &Actor, id: ScorerId) -> Result<Option<Lease>> {
    let mut change = state.audited.begin(actor).await?;
    let lease = Lease::acquire(state, &mut change.tx, lease_of(id)).await?;
    if lease.is_some() {
        change.commit(AuditEvent::ScorerRescored, json!({ "scorer": id })).await?;
    }
    Ok(lease)
}

fn lease_of(id: ScorerId) -> String {
    format!("rescore {id}")
}

pub(super) fn check_weights(weights: &Weights) -> Result<()> {
    if weights.len() > MAX_WEIGHTS {
        return Err(Error::field("weights", format!("must have at most {MAX_WEIGHTS} Stamps")));
    }
    Ok(())
}
