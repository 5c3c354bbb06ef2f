//! The transactions that keep Stamps, claims and scores consistent. A score change that someone subscribed to is
//! recorded in the same transaction.
//!
//! All transactions lock in the same order: digests, then the address (or several), then the sets of all nullifiers at
//! once. [`pyxis_core::score::compute`] defines a score; this module supplies its inputs and stores its result.

mod batch;
mod erase;
mod ingest;
mod live;
mod rescore;
mod revoke;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::{
    Input, ScoreRecord, ScoreResult, Stamp, Weights, compute, stored_to_json, weights_for,
};
use pyxis_core::stamp::Nullifier;
use pyxis_store::nullifier_sets::{self, Sets};
use pyxis_store::scorers::Terms;
use pyxis_store::scores::NewScore;
use pyxis_store::{Store, Tx, addresses, claims, score_history, scorer_changes, scores, stamps};

use live::Live;

pub(crate) use crate::conflicts::{ATTEMPTS, retry_on_conflict};
use crate::error::{Error, Result};
use crate::scoring_db::{PreviousScore, ScoringDb};

pub use crate::scoring_db::ScoreKey;
pub use batch::{Batch, ingest_many};
pub(crate) use erase::erase_in;
pub use ingest::{IngestOutcome, ingest, remove};
pub(crate) use ingest::{OwnIngestOutcome, ingest_own};
pub use rescore::rescore;
pub(crate) use revoke::revoke_in;
pub use revoke::{Revocation, revoke};

/// Computes and stores a score, unless another transaction did so meanwhile, and returns its record as JSON. `None`:
/// the address never had a Stamp, and nothing is stored for it. With `answer`, the score is about to be answered and
/// becomes history.
pub async fn score(db: &ScoringDb, place: ScoreKey, now: UnixMillis, answer: bool) -> Result<Option<String>> {
    let ScoreKey { workspace, address, .. } = place;
    retry_on_conflict(|| async {
        let mut tx = db.begin().await?;
        if !addresses::lock(&mut tx, workspace, address).await? {
            return Ok(Some(None));
        }
        if let Some(record) = found_in(&mut tx, place, now, answer).await? {
            tx.commit().await?;
            return Ok(Some(Some(record)));
        }
        let live = Live::read(&mut tx, workspace, address, now).await?;
        let lists = live.lists();
        let Some(sets) = hold_sets(&mut tx, workspace, &[], &lists, now).await? else { return Ok(None) };
        let record = settle_in(db, &mut tx, place, &live.with_set_names(&sets), now, answer).await?;
        if record.is_some() {
            tx.commit().await?;
        }
        Ok(record.map(Some))
    })
    .await
}

/// Locks the sets of the given nullifiers and lists, and merges each list into one set. `None`: another transaction
/// changed a set meanwhile; roll back and start again.
async fn hold_sets(
    tx: &mut Tx,
    workspace: WorkspaceId,
    nullifiers: &[Nullifier],
    lists: &[&[Nullifier]],
    now: UnixMillis,
) -> Result<Option<Sets>> {
    let all = nullifiers.iter().chain(lists.iter().copied().flatten()).collect();
    let Some(mut sets) = nullifier_sets::lock(tx, workspace, all).await? else { return Ok(None) };
    let tied = nullifier_sets::tie(tx, workspace, &mut sets, lists, now).await?;
    Ok(tied.then_some(sets))
}

/// The record of a score that another transaction computed while this one waited for the address. A damaged record does
/// not count.
async fn found_in(tx: &mut Tx, place: ScoreKey, now: UnixMillis, answer: bool) -> Result<Option<String>> {
    let ScoreKey { workspace, scorer, address } = place;
    let Some(found) = scores::fresh(&mut *tx, workspace, scorer, address, now).await? else {
        return Ok(None);
    };
    let Ok(record) = stored_to_json(address, found.body) else { return Ok(None) };
    if answer && !found.in_history {
        scores::mark_locked_in_history(tx, workspace, scorer, address, found.computed_at).await?;
    }
    Ok(Some(record))
}

/// The record of an address that never had a Stamp. No weight affects it.
pub fn score_without_stamps(address: EvmAddress, threshold: Decimal, now: UnixMillis) -> String {
    let weights = Weights::new();
    let settled = compute(&Input { address, stamps: &[], claims: &[], weights: &weights, threshold, now });
    ScoreRecord { address, threshold, computed_at: now, settled: &settled, error: None }.to_json()
}

/// Computes the score that would be stored and the Stamps behind it. Stores nothing.
pub async fn preview(db: &ScoringDb, place: ScoreKey, now: UnixMillis) -> Result<(Terms, ScoreResult)> {
    let store: &Store = db;
    let live = Live::read(store, place.workspace, place.address, now).await?;
    let sets = nullifier_sets::read(store, place.workspace, nullifiers(&live.stamps).collect()).await?;
    let Live { stamps, .. } = live.with_set_names(&sets);
    let wanted: Vec<Nullifier> = nullifiers(&stamps).cloned().collect();
    let mut held = claims::list_for(store, place.workspace, place.scorer, &wanted).await?;
    erase::count_as_own(db, place, &mut held);
    let terms = terms(store, place, now).await?;
    let settled = compute_score(place.address, &stamps, &held, &terms, now);
    Ok((terms, settled))
}

/// Settles and stores one score, with the address and its sets of nullifiers locked and the Stamps named by these sets.
/// `None` if another transaction took a claim meanwhile: roll back and start again.
async fn settle_in(
    db: &ScoringDb,
    tx: &mut Tx,
    place: ScoreKey,
    live: &Live,
    now: UnixMillis,
    answer: bool,
) -> Result<Option<String>> {
    let ScoreKey { workspace, scorer, address } = place;
    let terms = scorer_changes::terms_at(&mut *tx, workspace, scorer, now).await?.ok_or(Error::NoScorer)?;
    // A later claimant finds this score by them. Most are noted already; those of imported Stamps and of manually
    // repaired rows are not.
    stamps::note_nullifiers(tx, workspace, live.numbered()).await?;
    let wanted: Vec<Nullifier> = nullifiers(&live.stamps).cloned().collect();
    let held = claims::list_for(&mut *tx, workspace, scorer, &wanted).await?;
    let Some(held) = erase::taken_back(db, tx, place, held).await? else { return Ok(None) };
    let settled = compute_score(address, &live.stamps, &held, &terms, now);
    if !claims::claim_or_extend(tx, workspace, scorer, now, &settled.claims).await? {
        return Ok(None);
    }
    // A deduplicated Stamp of another address may show an end that this extends.
    let taken: Vec<Nullifier> = settled.claims.iter().map(|claim| claim.nullifier.clone()).collect();
    mark_others(tx, place, &taken).await?;
    let before = PreviousScore::read(tx, place).await?;
    let error = live.error();
    let record = record(address, &terms, now, &settled, error.as_deref());
    let body = record.to_stored();
    let new = NewScore {
        scorer,
        address,
        score: settled.score,
        computed_at: now,
        valid_until: live.valid_until(settled.valid_until, now),
        revision: terms.revision,
        in_history: answer,
        body: body.clone(),
    };
    scores::put(&mut *tx, workspace, &new).await?;
    if let Some(before) = before {
        before.enqueue_change(db, tx, place, &settled, now).await?;
    }
    if answer {
        score_history::insert(&mut *tx, workspace, scorer, address, now, &body).await?;
    }
    Ok(Some(record.to_json()))
}

/// Marks the scores of other addresses that share sets of nullifiers whose claims change. Nothing else that an address
/// has or does affects the scores of others.
async fn mark_others(tx: &mut Tx, place: ScoreKey, names: &[Nullifier]) -> Result<()> {
    let ScoreKey { workspace, scorer, address } = place;
    let members = nullifier_sets::members(&mut *tx, workspace, names).await?;
    let others = stamps::others_with_nullifiers(&mut *tx, workspace, Some(address), &members).await?;
    Ok(scores::mark_stale(tx, workspace, scorer, &others).await?)
}

async fn terms(store: &Store, place: ScoreKey, now: UnixMillis) -> Result<Terms> {
    scorer_changes::read_terms_at(store, place.workspace, place.scorer, now).await?.ok_or(Error::NoScorer)
}

fn nullifiers(stamps: &[Stamp]) -> impl Iterator<Item = &Nullifier> {
    stamps.iter().flat_map(|stamp| &stamp.nullifiers)
}

fn compute_score(
    address: EvmAddress,
    stamps: &[Stamp],
    claims: &[pyxis_core::score::Claim],
    terms: &Terms,
    now: UnixMillis,
) -> ScoreResult {
    let Terms { weights, threshold, kept, .. } = terms;
    let weights = &weights_for(weights, kept, stamps);
    compute(&Input { address, stamps, claims, weights, threshold: *threshold, now })
}

fn record<'a>(
    address: EvmAddress,
    terms: &Terms,
    computed_at: UnixMillis,
    settled: &'a ScoreResult,
    error: Option<&'a str>,
) -> ScoreRecord<'a> {
    ScoreRecord { address, threshold: terms.threshold, computed_at, settled, error }
}
