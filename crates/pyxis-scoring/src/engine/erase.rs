//! Erasure of an address. Its claims stay under a hash, so that the same account does not count for another address.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::Claim;
use pyxis_store::claims::HeldClaim;
use pyxis_store::erasures::{self, AddressHash, Counts};
use pyxis_store::{Tx, addresses, claims, stamps};

use super::{ScoreKey, hold_sets};
use crate::error::Result;
use crate::scoring_db::ScoringDb;

/// Removes everything about an address from the tables of scoring. `None`: roll back and start again.
pub(crate) async fn erase_in(
    db: &ScoringDb,
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
    now: UnixMillis,
) -> Result<Option<Counts>> {
    addresses::lock(tx, workspace, address).await?;
    let stored = stamps::all_of(&mut *tx, workspace, address).await?.stamps;
    let claimed = claims::nullifiers_of(&mut *tx, workspace, address).await?;
    let lists: Vec<_> = stored.iter().map(|stamp| stamp.nullifiers.as_slice()).collect();
    if hold_sets(tx, workspace, &claimed, &lists, now).await?.is_none() {
        return Ok(None);
    }
    let mut removed = Counts::new();
    let mut add = |kind: &str, count: u64| {
        if count > 0 {
            *removed.entry(kind.to_owned()).or_default() += i64::try_from(count).unwrap_or(i64::MAX);
        }
    };
    for stamp in &stored {
        add("stamps", u64::from(stamps::remove(tx, workspace, stamp).await?));
    }
    let hash = db.hash_of(workspace, address).as_address();
    let (ended, hashed) = claims::leave_to(tx, workspace, address, hash, now).await?;
    add("ended_claims", ended);
    add("claims_hashed", hashed);
    for (kind, count) in erasures::delete_rows(tx, workspace, address).await? {
        add(&kind, count.unsigned_abs());
    }
    Ok(Some(removed))
}

/// The claims, those of the address from before its erasure under its own name again. `None`: roll back and start again.
pub(super) async fn taken_back(
    db: &ScoringDb,
    tx: &mut Tx,
    place: ScoreKey,
    mut held: Vec<Claim>,
) -> Result<Option<Vec<Claim>>> {
    for claim in held.iter_mut().filter(|claim| is_own(db, place, claim)) {
        let before = HeldClaim { scorer: place.scorer, claim: claim.clone() };
        if !claims::hand_over(tx, place.workspace, &before, place.address).await? {
            return Ok(None);
        }
        claim.address = place.address;
    }
    Ok(Some(held))
}

/// Like [`taken_back`], for a computation that writes nothing.
pub(super) fn count_as_own(db: &ScoringDb, place: ScoreKey, held: &mut [Claim]) {
    for claim in held.iter_mut().filter(|claim| is_own(db, place, claim)) {
        claim.address = place.address;
    }
}

/// True if the address left this claim when it was erased.
fn is_own(db: &ScoringDb, place: ScoreKey, claim: &Claim) -> bool {
    AddressHash::is_hash(claim.address)
        && claim.address == db.hash_of(place.workspace, place.address).as_address()
}
