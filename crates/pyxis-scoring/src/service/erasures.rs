//! Erasure of addresses on request, with receipts.

use std::collections::HashSet;

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::hex;
use pyxis_core::id::{DeliveryId, ErasureId, ScoreJobId, WorkspaceId};
use pyxis_models::chunk;
use pyxis_store::erasures::{self, Counts};
use pyxis_store::{Store, Tx, activity, deliveries, score_jobs, workspaces};
use serde_json::json;

use super::{Error, Result};
use crate::engine::{self, ATTEMPTS};
use crate::jobs;
use crate::scoring_db::ScoringDb;
use crate::state::State;

pub use pyxis_store::erasures::ErasureRow as Erasure;

/// Deliveries read at once.
const PAGE: u32 = 500;

/// Transfers of a chunk with and without an address.
struct RewrittenChunk {
    source: String,
    number: i64,
    before: Vec<u8>,
    after: Vec<u8>,
    transfers: usize,
}

/// Findings from before the transaction, so that it stays short.
#[derive(Default)]
struct Findings {
    deliveries: Vec<DeliveryId>,
    last_delivery: Option<DeliveryId>,
    /// Chunks that were read, with and without a find.
    read: HashSet<(String, i64)>,
    chunks: Vec<RewrittenChunk>,
    /// Chunks of score jobs that were read, with and without a find.
    job_chunks_read: HashSet<(ScoreJobId, i64, i64)>,
    job_chunks: Vec<score_jobs::RewrittenChunk>,
    job_rows: usize,
}

/// Removes everything that is stored about an address. `None`: nothing was stored.
///
/// Claims stay under a hash until they end. The registry of proofs stays as it is. Wallet activity belongs to the
/// installation, so only managers of its first workspace remove it.
pub async fn erase(state: &State, actor: &Actor, address: EvmAddress) -> Result<Option<Erasure>> {
    let first = workspaces::list(&state.store).await?.into_iter().next();
    let with_activity = first.is_some_and(|first| first.id == actor.workspace);
    let mut found = Findings::default();
    find(&state.db, actor.workspace, address, with_activity, &mut found).await?;
    for _ in 0..ATTEMPTS {
        match attempt(state, actor, address, with_activity, &mut found).await {
            Ok(Some(done)) => return Ok(done),
            Ok(None) | Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}

/// Receipts of an address, newest first.
pub async fn receipts(db: &ScoringDb, workspace: WorkspaceId, address: EvmAddress) -> Result<Vec<Erasure>> {
    Ok(erasures::list_for(&**db, workspace, db.hash_of(workspace, address)).await?)
}

/// `None`: a conflict with another transaction.
async fn attempt(
    state: &State,
    actor: &Actor,
    address: EvmAddress,
    with_activity: bool,
    found: &mut Findings,
) -> Result<Option<Option<Erasure>>> {
    let workspace = actor.workspace;
    let now = state.now();
    let mut change = state.audited.begin(actor).await?;
    let erased = engine::erase_in(&state.db, &mut change.tx, workspace, address, now).await?;
    let Some(mut removed) = erased else { return Ok(None) };
    // With the address locked, no event about it is added any more.
    find(&state.db, workspace, address, with_activity, found).await?;
    let gone = deliveries::remove(&mut change.tx, workspace, &found.deliveries).await?;
    add(&mut removed, "deliveries", gone);
    if !remove_job_rows(&mut change.tx, workspace, found, &mut removed).await? {
        (found.job_chunks_read, found.job_chunks, found.job_rows) = Default::default();
        return Ok(None);
    }
    if with_activity && !remove_activity(&mut change.tx, address, found, &mut removed).await? {
        (found.read, found.chunks) = Default::default();
        return Ok(None);
    }
    if removed.is_empty() {
        return Ok(Some(None));
    }
    let registry = erasures::count_kept(&mut change.tx, address).await?;
    let mut kept = Counts::new();
    add(&mut kept, "proof_registry", registry.unsigned_abs());
    let hash = state.db.hash_of(workspace, address);
    let detail = json!({
        "address_hash": hex::encode(&hash.as_address().0), "removed": removed, "kept": kept,
    });
    let (audit_seq, audit_mac) = change.record(AuditEvent::AddressErased, &detail).await?;
    let receipt = Erasure {
        id: ErasureId::new(now, &*state.entropy),
        removed,
        kept,
        erased_at: now,
        erased_by: actor.name.clone(),
        audit_seq,
        audit_mac,
    };
    erasures::insert(&mut change.tx, workspace, hash, &receipt).await?;
    change.commit_recorded().await?;
    Ok(Some(Some(receipt)))
}

fn add(counts: &mut Counts, kind: &str, count: u64) {
    if count > 0 {
        *counts.entry(kind.to_owned()).or_default() += i64::try_from(count).unwrap_or(i64::MAX);
    }
}

/// Reads events and transfers that were not read before.
async fn find(
    db: &ScoringDb,
    workspace: WorkspaceId,
    address: EvmAddress,
    with_activity: bool,
    found: &mut Findings,
) -> Result<()> {
    loop {
        let page = deliveries::bodies_after(&**db, workspace, found.last_delivery, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        found.last_delivery = Some(*last);
        let about = |(id, body): &(DeliveryId, _)| db.address_in(workspace, *id, body) == Some(address);
        found.deliveries.extend(page.iter().filter(|one| about(one)).map(|(id, _)| *id));
    }
    find_job_rows(db, workspace, address, found).await?;
    if !with_activity {
        return Ok(());
    }
    for (source, number) in activity::chunks(&**db).await? {
        if found.read.contains(&(source.clone(), number)) {
            continue;
        }
        let Some(before) = activity::chunk(&**db, &source, number).await? else { continue };
        let work = move || chunk::without(&before, address).map(|after| (before, after));
        let (before, after) =
            tokio::task::spawn_blocking(work).await.map_err(Error::internal)?.map_err(Error::internal)?;
        if let Some((after, transfers)) = after {
            let source = source.clone();
            found.chunks.push(RewrittenChunk { source, number, before, after, transfers });
        }
        found.read.insert((source, number));
    }
    Ok(())
}

/// Reads chunks of score jobs that were not read before.
async fn find_job_rows(
    store: &Store,
    workspace: WorkspaceId,
    address: EvmAddress,
    found: &mut Findings,
) -> Result<()> {
    for key in score_jobs::keys(store, workspace).await? {
        if found.job_chunks_read.contains(&key) {
            continue;
        }
        let (job, number, _) = key;
        let Some(before) = score_jobs::stored(store, job, number).await? else { continue };
        let work = move || jobs::without((job, number), before, address);
        let rewritten = tokio::task::spawn_blocking(work).await.map_err(Error::internal)??;
        if let Some((chunk, rows)) = rewritten {
            found.job_chunks.push(chunk);
            found.job_rows += rows;
        }
        found.job_chunks_read.insert(key);
    }
    Ok(())
}

/// Removes the address from score jobs. Returns false if a chunk changed since it was read.
async fn remove_job_rows(
    tx: &mut Tx,
    workspace: WorkspaceId,
    found: &Findings,
    removed: &mut Counts,
) -> Result<bool> {
    score_jobs::interrupt(tx, workspace).await?;
    for chunk in &found.job_chunks {
        if !score_jobs::replace(tx, chunk).await? {
            return Ok(false);
        }
    }
    add(removed, "score_job_rows", found.job_rows as u64);
    Ok(true)
}

/// Removes the address from wallet activity. Returns false if a chunk changed since it was read.
async fn remove_activity(
    tx: &mut Tx,
    address: EvmAddress,
    found: &Findings,
    removed: &mut Counts,
) -> Result<bool> {
    for chunk in &found.chunks {
        let place = (chunk.source.as_str(), chunk.number);
        if !activity::replace_chunk(tx, place, chunk.before.clone(), chunk.after.clone()).await? {
            return Ok(false);
        }
        add(removed, "transfers", chunk.transfers as u64);
    }
    let features = activity::forget_address(tx, address).await?;
    add(removed, "activity_features", features);
    if features > 0 || !found.chunks.is_empty() {
        activity::supersede_run(tx).await?;
    }
    Ok(true)
}
