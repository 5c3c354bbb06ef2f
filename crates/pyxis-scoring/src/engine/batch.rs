//! Credentials of many addresses in few transactions, for imports.

use std::collections::{BTreeMap, HashMap, HashSet};

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::StampName;
use pyxis_store::stamps::BulkInsert;
use pyxis_store::{Committing, Tx, addresses, revocations, scorers, stamps};

use super::ingest::{IncomingBatch, IngestOutcome, new_stamp};
use super::{ATTEMPTS, ScoreKey, hold_sets, retry_on_conflict, score};
use crate::credential::VerifiedCredential;
use crate::error::{Error, Result};
use crate::scoring_db::ScoringDb;

/// Known addresses whose credentials are stored in one transaction. Changes to any of them wait for it. If they have
/// more than 256 nullifiers together, so does every score computation of the workspace.
const AT_ONCE: usize = 64;

/// The outcome of each credential, as far as it is known.
type Outcomes = Vec<Option<IngestOutcome>>;

/// Credentials of any addresses, prepared to be stored together. Work that needs no database is done before the
/// transaction, which blocks others.
pub struct Batch {
    workspace: WorkspaceId,
    credentials: Vec<VerifiedCredential>,
    received_at: UnixMillis,
    digests: Vec<SigningDigest>,
    addresses: Vec<EvmAddress>,
    /// The plan for new addresses if nothing was revoked. In most imports all but one are new.
    all_new: Option<New>,
}

/// Credentials of new addresses, and the outcome of each in a batch.
struct New {
    stamps: BulkInsert,
    outcomes: Outcomes,
}

impl Batch {
    /// Prepares credentials for a workspace.
    pub fn prepare(
        workspace: WorkspaceId,
        credentials: Vec<VerifiedCredential>,
        received_at: UnixMillis,
    ) -> Self {
        let outcomes = first_of_each_digest(&credentials);
        let by_address = by_address(&credentials, &outcomes);
        let digests = credentials.iter().map(|credential| credential.digest).collect();
        let addresses = by_address.keys().copied().collect();
        let mut batch = Self { workspace, credentials, received_at, digests, addresses, all_new: None };
        let all: Vec<usize> = by_address.into_values().flatten().collect();
        batch.all_new = Some(batch.as_new(&all, outcomes));
        batch
    }

    /// The signing digests, in the order of the credentials.
    pub fn digests(&self) -> &[SigningDigest] {
        &self.digests
    }

    /// The newest credential of each address and name, as if every address were new. An address that was never scored
    /// holds no claim.
    fn as_new(&self, indexes: &[usize], mut outcomes: Outcomes) -> New {
        let credentials = &self.credentials;
        let mut newest: HashMap<(EvmAddress, &StampName), usize> = HashMap::with_capacity(indexes.len());
        for &index in indexes {
            let age = |index: usize| (credentials[index].issued_at, credentials[index].digest);
            let place = (credentials[index].address, &credentials[index].provider);
            let kept = newest.entry(place).or_insert(index);
            if age(index) > age(*kept) {
                *kept = index;
            }
        }
        let kept: HashSet<usize> = newest.into_values().collect();
        let mut stamps = Vec::with_capacity(kept.len());
        for &index in indexes {
            if kept.contains(&index) {
                outcomes[index] = Some(IngestOutcome::Accepted);
                stamps.push(new_stamp(&credentials[index], self.received_at));
            } else {
                outcomes[index] = Some(IngestOutcome::Superseded);
            }
        }
        New { stamps: BulkInsert::prepare(self.workspace, stamps, self.received_at), outcomes }
    }
}

/// Stores a batch and returns each outcome, with a commit to await for durability. On failure, some may be stored
/// anyway.
///
/// New addresses, which are the majority in an import, take a fast path together. No one has scored them, so there is
/// nothing to settle. Their credentials tie nullifiers, which may take a claim from another address. The others are
/// stored as if each had arrived separately at `now`, a few per transaction.
pub async fn ingest_many(
    db: &ScoringDb,
    mut batch: Batch,
    now: UnixMillis,
) -> Result<(Vec<IngestOutcome>, Committing)> {
    let (mut outcomes, mut committing) = all_new(db, &mut batch, now).await?;
    let known: Vec<_> = by_address(&batch.credentials, &outcomes).into_iter().collect();
    for some in known.chunks(AT_ONCE) {
        let (found, later) = retry_on_conflict(|| async {
            let mut tx = db.begin().await?;
            let Some(found) = known_in(db, &mut tx, &batch, some, now).await? else { return Ok(None) };
            Ok(Some((found, tx.commit_pipelined().await?)))
        })
        .await?;
        for (index, outcome) in found {
            outcomes[index] = Some(outcome);
        }
        // Never durable before the earlier ones.
        committing = later;
    }
    score_for_votes(db, &batch, now).await?;
    let outcomes = outcomes.into_iter().map(|outcome| outcome.unwrap_or(IngestOutcome::Unchanged));
    Ok((outcomes.collect(), committing))
}

/// Scores the addresses of a batch in the scorers that are open to votes, which new addresses have not been. A vote about
/// a moment needs a score by then.
async fn score_for_votes(db: &ScoringDb, batch: &Batch, now: UnixMillis) -> Result<()> {
    for scorer in db.open_to_votes() {
        let scorer = *scorer;
        if scorers::find(&**db, batch.workspace, scorer).await?.is_none() {
            continue;
        }
        for address in &batch.addresses {
            let place = ScoreKey { workspace: batch.workspace, scorer, address: *address };
            score(db, place, now, true).await?;
        }
    }
    Ok(())
}

/// Stores the credentials of new addresses. The outcomes of the others are not known yet.
async fn all_new(db: &ScoringDb, batch: &mut Batch, now: UnixMillis) -> Result<(Outcomes, Committing)> {
    for _ in 0..ATTEMPTS {
        let mut tx = db.begin().await?;
        match new_in(&mut tx, batch, now).await {
            Ok(outcomes) => return Ok((outcomes, tx.commit_pipelined().await?)),
            // One of the addresses became known meanwhile, or another transaction conflicted.
            Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}

async fn new_in(tx: &mut Tx, batch: &mut Batch, now: UnixMillis) -> Result<Outcomes> {
    let all: Vec<usize> = (0..batch.credentials.len()).collect();
    let revoked = revoked_in(tx, batch, &all).await?;
    let known = addresses::filter_known(&mut *tx, batch.workspace, &batch.addresses).await?;
    // Prepared for one use: a second attempt takes the other path.
    let all_new = batch.all_new.take();
    let known: HashSet<EvmAddress> = known.into_iter().collect();
    if revoked.is_empty()
        && let Some(New { mut stamps, mut outcomes }) = all_new
    {
        stamps.leave_out(&known);
        for (credential, outcome) in batch.credentials.iter().zip(&mut outcomes) {
            // Storing the same one again changes nothing there either.
            if known.contains(&credential.address) && !matches!(outcome, Some(IngestOutcome::Unchanged)) {
                *outcome = None;
            }
        }
        stamps::insert_many(tx, stamps).await?;
        tie_new(tx, batch, &outcomes, now).await?;
        return Ok(outcomes);
    }
    let mut outcomes = first_of_each_digest(&batch.credentials);
    for index in revoked {
        outcomes[index] = Some(IngestOutcome::Revoked);
    }
    let mut new = by_address(&batch.credentials, &outcomes);
    new.retain(|address, _| !known.contains(address));
    let new: Vec<usize> = new.into_values().flatten().collect();
    if new.is_empty() {
        return Ok(outcomes);
    }
    let New { stamps, outcomes } = batch.as_new(&new, outcomes);
    stamps::insert_many(tx, stamps).await?;
    tie_new(tx, batch, &outcomes, now).await?;
    Ok(outcomes)
}

/// Ties the nullifiers that the credentials of new addresses list, the only effect they have on other scores.
async fn tie_new(tx: &mut Tx, batch: &Batch, outcomes: &Outcomes, now: UnixMillis) -> Result<()> {
    let new = batch.credentials.iter().zip(outcomes);
    let new = new
        .filter(|(_, outcome)| matches!(outcome, Some(IngestOutcome::Accepted | IngestOutcome::Superseded)));
    // Only lists of several nullifiers tie anything.
    let lists = new.map(|(credential, _)| credential.nullifiers.as_slice());
    let lists: Vec<_> = lists.filter(|list| list.len() > 1).collect();
    hold_sets(tx, batch.workspace, &[], &lists, now).await?.map(drop).ok_or(Error::Busy)
}

/// The credentials of a batch that are revoked, by any of their digests. For the others, the digests of several proofs
/// are noted.
async fn revoked_in(tx: &mut Tx, batch: &Batch, indexes: &[usize]) -> Result<HashSet<usize>> {
    let Batch { workspace, credentials, .. } = batch;
    let digests = |index: &usize| credentials[*index].all_digests();
    let wanted: Vec<SigningDigest> = indexes.iter().flat_map(digests).copied().collect();
    let revoked = revocations::revoked_among(tx, *workspace, &wanted).await?;
    let is_revoked = |index: &usize| digests(index).iter().any(|digest| revoked.contains(digest));
    let (gone, good): (HashSet<usize>, Vec<usize>) = if revoked.is_empty() {
        (HashSet::new(), indexes.to_vec())
    } else {
        let (gone, good): (Vec<usize>, Vec<usize>) = indexes.iter().partition(|index| is_revoked(index));
        (gone.into_iter().collect(), good)
    };
    for index in good {
        if !credentials[index].digests.is_empty() {
            revocations::note_same(tx, *workspace, &credentials[index].digests).await?;
        }
    }
    Ok(gone)
}

/// Stores credentials of known addresses and returns each outcome. `None`: start again.
async fn known_in(
    db: &ScoringDb,
    tx: &mut Tx,
    batch: &Batch,
    known: &[(EvmAddress, Vec<usize>)],
    now: UnixMillis,
) -> Result<Option<Vec<(usize, IngestOutcome)>>> {
    let Batch { workspace, credentials, .. } = batch;
    let wanted: Vec<usize> = known.iter().flat_map(|(_, indexes)| indexes).copied().collect();
    // Some may have been revoked since.
    let revoked = revoked_in(tx, batch, &wanted).await?;
    let addresses: Vec<EvmAddress> = known.iter().map(|(address, _)| *address).collect();
    if addresses::lock_known(tx, *workspace, &addresses).await?.len() < addresses.len() {
        // One of them was erased meanwhile, and is new again.
        for address in &addresses {
            addresses::ensure(tx, *workspace, *address, now).await?;
        }
    }
    let mut outcomes = Vec::with_capacity(wanted.len());
    let mut arrivals = Vec::with_capacity(known.len());
    for (address, indexes) in known {
        let (gone, good): (Vec<usize>, Vec<usize>) =
            indexes.iter().partition(|index| revoked.contains(index));
        outcomes.extend(gone.into_iter().map(|index| (index, IngestOutcome::Revoked)));
        let theirs = good.iter().map(|index| &credentials[*index]).collect();
        arrivals.push((good, IncomingBatch::read(tx, *workspace, *address, theirs).await?));
    }
    let lists: Vec<_> = arrivals.iter().flat_map(|(_, arrival)| arrival.lists()).collect();
    let Some(sets) = hold_sets(tx, *workspace, &[], &lists, now).await? else { return Ok(None) };
    for (indexes, arrival) in arrivals {
        let Some(found) = arrival.store(db, tx, &sets, now).await? else { return Ok(None) };
        outcomes.extend(indexes.into_iter().zip(found));
    }
    Ok(Some(outcomes))
}

/// Credentials without a known outcome, grouped by address.
fn by_address(
    credentials: &[VerifiedCredential],
    outcomes: &[Option<IngestOutcome>],
) -> BTreeMap<EvmAddress, Vec<usize>> {
    let mut by_address: BTreeMap<EvmAddress, Vec<usize>> = BTreeMap::new();
    for (index, credential) in credentials.iter().enumerate().filter(|(index, _)| outcomes[*index].is_none())
    {
        by_address.entry(credential.address).or_default().push(index);
    }
    by_address
}

/// Outcomes with `None` for the first credential of each digest; a repeated one changes nothing.
fn first_of_each_digest(credentials: &[VerifiedCredential]) -> Outcomes {
    let mut seen = HashSet::with_capacity(credentials.len());
    let again = |credential: &VerifiedCredential| {
        (!seen.insert(credential.digest)).then_some(IngestOutcome::Unchanged)
    };
    credentials.iter().map(again).collect()
}
