//! Credentials of many addresses in one transaction, as an import brings them.

use std::collections::{BTreeMap, HashMap, HashSet};

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_store::stamps::Many;
use pyxis_store::{Committing, Tx, claims, holders, revocations, stamps};

use super::ATTEMPTS;
use super::ingest::{Arrival, Outcome, new_stamp};
use crate::books::Books;
use crate::credential::Verified;
use crate::error::{Error, Result};

/// What becomes of each credential, as far as it is known.
type Outcomes = Vec<Option<Outcome>>;

/// Credentials of any addresses, made ready to be stored together: what does not need the database is done
/// before the transaction, in which everybody else has to wait.
pub struct Batch {
    workspace: WorkspaceId,
    credentials: Vec<Verified>,
    received_at: UnixMillis,
    digests: Vec<SigningDigest>,
    addresses: Vec<EvmAddress>,
    /// What is done if all addresses are new and nothing was revoked, as with most imports.
    all_new: Option<New>,
}

/// Credentials of addresses that are new, and what becomes of each of a batch.
struct New {
    stamps: Many,
    outcomes: Outcomes,
}

impl Batch {
    /// Credentials that come to a workspace.
    pub fn of(workspace: WorkspaceId, credentials: Vec<Verified>, received_at: UnixMillis) -> Self {
        let outcomes = first_of_each_digest(&credentials);
        let by_address = by_address(&credentials, &outcomes);
        let digests = credentials.iter().map(|credential| credential.digest).collect();
        let addresses = by_address.keys().copied().collect();
        let mut batch = Self { workspace, credentials, received_at, digests, addresses, all_new: None };
        let all: Vec<usize> = by_address.into_values().flatten().collect();
        batch.all_new = Some(batch.as_new(&all, outcomes));
        batch
    }

    /// The newest credential of each address and name; no address is known yet. Who never was scored holds no claim,
    /// so nothing that others show changes.
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
                outcomes[index] = Some(Outcome::Accepted);
                stamps.push(new_stamp(&credentials[index], self.received_at));
            } else {
                outcomes[index] = Some(Outcome::Superseded);
            }
        }
        New { stamps: Many::of(self.workspace, stamps, self.received_at), outcomes }
    }
}

/// Stores a batch, all or nothing; what became of each, once the commit is durable that comes with it.
///
/// Addresses that are new, which in an import most are, take a short way: nobody has scored them, so
/// there is nothing to settle. The others go as if each had come by itself at `now`.
pub async fn ingest_many(
    books: &Books,
    mut batch: Batch,
    now: UnixMillis,
) -> Result<(Vec<Outcome>, Committing)> {
    for _ in 0..ATTEMPTS {
        let mut tx = books.begin().await?;
        match all_in(books, &mut tx, &mut batch, now).await {
            Ok(Some(outcomes)) => {
                let outcomes = outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Unchanged));
                return Ok((outcomes.collect(), tx.commit_ahead().await?));
            }
            // One of the addresses became known meanwhile, or another transaction was in the way.
            Ok(None) | Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}

async fn all_in(books: &Books, tx: &mut Tx, batch: &mut Batch, now: UnixMillis) -> Result<Option<Outcomes>> {
    let revoked = revocations::revoked_among(tx, batch.workspace, &batch.digests).await?;
    let known = holders::lock_known(tx, batch.workspace, &batch.addresses).await?;
    // Made ready for this once: whoever comes here again goes the other way.
    let all_new = batch.all_new.take();
    if revoked.is_empty()
        && known.is_empty()
        && let Some(New { stamps, outcomes }) = all_new
    {
        stamps::insert_many(tx, stamps).await?;
        return Ok(Some(outcomes));
    }
    let known: HashSet<EvmAddress> = known.into_iter().collect();
    some_in(books, tx, batch, &revoked, &known, now).await
}

/// The same where some are revoked, or of addresses that are known, which are locked.
async fn some_in(
    books: &Books,
    tx: &mut Tx,
    batch: &Batch,
    revoked: &[SigningDigest],
    known: &HashSet<EvmAddress>,
    now: UnixMillis,
) -> Result<Option<Outcomes>> {
    let credentials = &batch.credentials;
    let mut outcomes = first_of_each_digest(credentials);
    for (credential, outcome) in credentials.iter().zip(&mut outcomes) {
        if revoked.contains(&credential.digest) {
            *outcome = Some(Outcome::Revoked);
        }
    }
    let (known, new): (Vec<_>, Vec<_>) =
        by_address(credentials, &outcomes).into_iter().partition(|(address, _)| known.contains(address));
    let new: Vec<usize> = new.into_iter().flat_map(|(_, indexes)| indexes).collect();
    let New { stamps, mut outcomes } = batch.as_new(&new, outcomes);
    stamps::insert_many(tx, stamps).await?;
    let mut arrivals = Vec::with_capacity(known.len());
    for (address, indexes) in known {
        let theirs = indexes.iter().map(|index| &credentials[*index]).collect();
        arrivals.push((indexes, Arrival::read(tx, batch.workspace, address, theirs).await?));
    }
    claims::lock(tx, batch.workspace, touched(&arrivals)).await?;
    for (indexes, arrival) in arrivals {
        let Some(found) = arrival.store(books, tx, now).await? else { return Ok(None) };
        for (index, outcome) in indexes.into_iter().zip(found) {
            outcomes[index] = Some(outcome);
        }
    }
    Ok(Some(outcomes))
}

/// All nullifiers on which something depends.
fn touched<'a>(arrivals: &'a [(Vec<usize>, Arrival<'_>)]) -> Vec<&'a Nullifier> {
    arrivals.iter().flat_map(|(_, arrival)| arrival.nullifiers()).collect()
}

/// Those of which it is not known yet what becomes of them.
fn by_address(credentials: &[Verified], outcomes: &[Option<Outcome>]) -> BTreeMap<EvmAddress, Vec<usize>> {
    let mut by_address: BTreeMap<EvmAddress, Vec<usize>> = BTreeMap::new();
    for (index, credential) in credentials.iter().enumerate().filter(|(index, _)| outcomes[*index].is_none())
    {
        by_address.entry(credential.address).or_default().push(index);
    }
    by_address
}

/// `None` for the first credential of each digest; the same one again changes nothing.
fn first_of_each_digest(credentials: &[Verified]) -> Outcomes {
    let mut seen = HashSet::with_capacity(credentials.len());
    let again = |credential: &Verified| (!seen.insert(credential.digest)).then_some(Outcome::Unchanged);
    credentials.iter().map(again).collect()
}
