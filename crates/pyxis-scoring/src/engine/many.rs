//! Credentials of many addresses in one transaction, as an import brings them.

use std::collections::{BTreeMap, HashMap, HashSet};

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::StampName;
use pyxis_store::{Committing, Tx, holders, revocations, stamps};

use super::ATTEMPTS;
use super::ingest::{Outcome, ingest_in, new_stamp};
use crate::books::Books;
use crate::credential::Verified;
use crate::error::{Error, Result};

/// Stores credentials of any addresses, all or none; what became of each, once the commit is durable that comes
/// with it.
///
/// Addresses that are new, which in an import most are, take a short way: nobody has scored them, so
/// there is nothing to settle. The others go as if each had come by itself.
pub async fn ingest_many(
    books: &Books,
    workspace: WorkspaceId,
    credentials: &[Verified],
    now: UnixMillis,
) -> Result<(Vec<Outcome>, Committing)> {
    for _ in 0..ATTEMPTS {
        let mut tx = books.begin().await?;
        match all_in(books, &mut tx, workspace, credentials, now).await {
            Ok(Some(outcomes)) => {
                return Ok((outcomes, tx.commit_ahead().await?));
            }
            // One of the addresses became known meanwhile.
            Ok(None) | Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}

async fn all_in(
    books: &Books,
    tx: &mut Tx,
    workspace: WorkspaceId,
    credentials: &[Verified],
    now: UnixMillis,
) -> Result<Option<Vec<Outcome>>> {
    let mut outcomes = first_of_each_digest(credentials);
    let digests: Vec<_> = credentials.iter().map(|credential| credential.digest).collect();
    let revoked = revocations::revoked_among(tx, workspace, &digests).await?;
    for (credential, outcome) in credentials.iter().zip(&mut outcomes) {
        if revoked.contains(&credential.digest) {
            *outcome = Some(Outcome::Revoked);
        }
    }
    let mut by_address: BTreeMap<EvmAddress, Vec<usize>> = BTreeMap::new();
    for (index, credential) in credentials.iter().enumerate().filter(|(index, _)| outcomes[*index].is_none())
    {
        by_address.entry(credential.address).or_default().push(index);
    }
    let addresses: Vec<EvmAddress> = by_address.keys().copied().collect();
    let known: HashSet<EvmAddress> =
        holders::known(&mut *tx, workspace, &addresses).await?.into_iter().collect();
    let (known, new): (Vec<_>, Vec<_>) =
        by_address.into_iter().partition(|(address, _)| known.contains(address));
    let new: Vec<usize> = new.into_iter().flat_map(|(_, indexes)| indexes).collect();
    add_new(tx, workspace, credentials, &new, &mut outcomes, now).await?;
    for (address, indexes) in known {
        let theirs: Vec<Verified> = indexes.iter().map(|index| credentials[*index].clone()).collect();
        let Some(found) = ingest_in(books, tx, workspace, address, &theirs, now).await? else {
            return Ok(None);
        };
        for (index, outcome) in indexes.into_iter().zip(found) {
            outcomes[index] = Some(outcome);
        }
    }
    Ok(Some(outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Unchanged)).collect()))
}

/// `None` for the first credential of each digest; the same one again changes nothing.
fn first_of_each_digest(credentials: &[Verified]) -> Vec<Option<Outcome>> {
    let mut seen = HashSet::with_capacity(credentials.len());
    let again = |credential: &Verified| (!seen.insert(credential.digest)).then_some(Outcome::Unchanged);
    credentials.iter().map(again).collect()
}

/// Stores the newest credential of each address and name; no address is known yet.
async fn add_new(
    tx: &mut Tx,
    workspace: WorkspaceId,
    credentials: &[Verified],
    indexes: &[usize],
    outcomes: &mut [Option<Outcome>],
    now: UnixMillis,
) -> Result<()> {
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
        if !kept.contains(&index) {
            outcomes[index] = Some(Outcome::Superseded);
            continue;
        }
        outcomes[index] = Some(Outcome::Accepted);
        stamps.push(new_stamp(&credentials[index], now));
    }
    // Who never was scored holds no claim, so nothing that others show changes.
    Ok(stamps::insert_many(tx, workspace, stamps, now).await?)
}
