//! Revocation by the issuer, keyed by signing digest.

use std::collections::BTreeSet;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::Nullifier;
use pyxis_store::claims::HeldClaim;
use pyxis_store::nullifier_sets::Sets;
use pyxis_store::revocations::RevocationRow;
use pyxis_store::stamps::StampRow;
use pyxis_store::{Tx, addresses, claims, revocations, scores, stamps};

use super::ingest::settle_known;
use super::{ScoreKey, hold_sets, mark_others, retry_on_conflict};
use crate::error::Result;
use crate::scoring_db::ScoringDb;

/// Result of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// True if the credential was not revoked before.
    pub new: bool,
    /// True if a Stamp was removed.
    pub removed: bool,
}

/// Revokes a credential, stored or not. Its claims end; another live Stamp of the holder with the same nullifier claims
/// it again.
pub async fn revoke(
    db: &ScoringDb,
    workspace: WorkspaceId,
    revocation: &RevocationRow,
) -> Result<Revocation> {
    retry_on_conflict(|| async {
        let mut tx = db.begin().await?;
        let done = revoke_in(db, &mut tx, workspace, revocation).await?;
        if done.is_some() {
            tx.commit().await?;
        }
        Ok(done)
    })
    .await
}

/// The same in the caller's transaction; `None`: roll back and start again.
pub(crate) async fn revoke_in(
    db: &ScoringDb,
    tx: &mut Tx,
    workspace: WorkspaceId,
    revocation: &RevocationRow,
) -> Result<Option<Revocation>> {
    // With the digest locked, no one can add the credential any more.
    let mut new = revocations::insert(tx, workspace, revocation).await?;
    // A credential with several proofs has as many digests.
    let digests = revocations::all_of(&mut *tx, workspace, &[revocation.digest]).await?;
    for digest in &digests {
        if *digest != revocation.digest {
            let row = RevocationRow { digest: *digest, ..revocation.clone() };
            new |= revocations::insert(tx, workspace, &row).await?;
        }
    }
    let removed = remove_rows(db, tx, workspace, &digests, revocation.revoked_at).await?;
    Ok(removed.map(|removed| Revocation { new, removed }))
}

/// The rows that depend on a digest.
enum DigestRecord {
    Stamp(StampRow),
    /// Only claims: a Stamp that its holder removed may have left them.
    Claims(Vec<HeldClaim>),
}

impl DigestRecord {
    async fn read(tx: &mut Tx, workspace: WorkspaceId, digest: &SigningDigest) -> Result<Self> {
        Ok(match stamps::find_by_digest(&mut *tx, workspace, digest).await? {
            Some(stamp) => Self::Stamp(stamp),
            None => Self::Claims(claims::of_digest(&mut *tx, workspace, digest).await?),
        })
    }

    fn addresses(&self) -> Vec<EvmAddress> {
        match self {
            Self::Stamp(stamp) => vec![stamp.address],
            Self::Claims(held) => held.iter().map(|held| held.claim.address).collect(),
        }
    }

    /// Nullifiers of claims without a Stamp.
    fn left_nullifiers(&self) -> impl Iterator<Item = &Nullifier> {
        let held: &[HeldClaim] = match self {
            Self::Stamp(_) => &[],
            Self::Claims(held) => held,
        };
        held.iter().map(|held| &held.claim.nullifier)
    }
}

/// Removes the rows that depend on the digests of one credential; true if a Stamp was removed. `None`: roll back and
/// start again.
///
/// All holders are locked first, in their order, and then all sets at once. So another transaction that needs some of
/// the same waits for this one, and the two never deadlock.
async fn remove_rows(
    db: &ScoringDb,
    tx: &mut Tx,
    workspace: WorkspaceId,
    digests: &[SigningDigest],
    now: UnixMillis,
) -> Result<Option<bool>> {
    let addresses = lock_holders(tx, workspace, digests).await?;
    if addresses.is_empty() {
        return Ok(Some(false));
    }
    // While this waited for the holder, a Stamp may have been removed and left its claims.
    let mut records = Vec::with_capacity(digests.len());
    for digest in digests {
        records.push((digest, DigestRecord::read(tx, workspace, digest).await?));
    }
    let left: BTreeSet<_> = records.iter().flat_map(|(_, found)| found.left_nullifiers()).cloned().collect();
    let left: Vec<Nullifier> = left.into_iter().collect();
    let Some(sets) = lock_sets(tx, workspace, &addresses, &left, now).await? else { return Ok(None) };
    let mut removed = false;
    for (digest, found) in records {
        // Until their sets were locked, the claims may have moved to another name or address.
        let held = claims::of_digest(&mut *tx, workspace, digest).await?;
        match found {
            DigestRecord::Stamp(stamp) => {
                remove_stamp(tx, workspace, &stamp, &held, &sets).await?;
                removed = true;
            }
            DigestRecord::Claims(_) => {
                let is_locked = |held: &HeldClaim| {
                    addresses.contains(&held.claim.address) && left.contains(&held.claim.nullifier)
                };
                if !held.iter().all(is_locked) {
                    return Ok(None);
                }
                release(tx, workspace, &held).await?;
            }
        }
    }
    for address in addresses {
        if !settle_known(db, tx, workspace, address, &sets, now).await? {
            return Ok(None);
        }
    }
    Ok(Some(removed))
}

/// Locks the holders of the rows that depend on the digests, in their order, and deletes what cannot be read.
async fn lock_holders(
    tx: &mut Tx,
    workspace: WorkspaceId,
    digests: &[SigningDigest],
) -> Result<Vec<EvmAddress>> {
    let mut addresses = BTreeSet::new();
    for digest in digests {
        // An unreadable one counts nowhere: just delete it.
        stamps::discard_damaged(tx, workspace, digest).await?;
        addresses.extend(DigestRecord::read(tx, workspace, digest).await?.addresses());
    }
    let addresses: Vec<EvmAddress> = addresses.into_iter().collect();
    addresses::lock_known(tx, workspace, &addresses).await?;
    Ok(addresses)
}

/// Locks the sets of all Stamps of the holders, and of the nullifiers that were left. `None`: roll back and start again.
async fn lock_sets(
    tx: &mut Tx,
    workspace: WorkspaceId,
    addresses: &[EvmAddress],
    left: &[Nullifier],
    now: UnixMillis,
) -> Result<Option<Sets>> {
    let mut all = Vec::new();
    for address in addresses {
        all.extend(stamps::all_of(&mut *tx, workspace, *address).await?.stamps);
    }
    let lists: Vec<_> = all.iter().map(|stamp| stamp.nullifiers.as_slice()).collect();
    hold_sets(tx, workspace, left, &lists, now).await
}

/// Removes a Stamp, and ends its claims and those that earlier credentials of it left.
async fn remove_stamp(
    tx: &mut Tx,
    workspace: WorkspaceId,
    stamp: &StampRow,
    held: &[HeldClaim],
    sets: &Sets,
) -> Result<()> {
    stamps::remove(tx, workspace, stamp).await?;
    release(tx, workspace, held).await?;
    let renewed = left_by_renewals(tx, workspace, stamp, sets).await?;
    release(tx, workspace, &renewed).await
}

/// The holder's other claims, under the same name, on the Stamp's nullifiers. They rest on credentials that this one
/// replaced and that would have lasted longer, so they must not outlive it. A claim under another name rests on a
/// credential that its issuer did not revoke, stored or not. If no name is known, any claim may be meant.
async fn left_by_renewals(
    tx: &mut Tx,
    workspace: WorkspaceId,
    stamp: &StampRow,
    sets: &Sets,
) -> Result<Vec<HeldClaim>> {
    let names = sets.names(&stamp.nullifiers);
    let mut left = Vec::new();
    for scorer in scores::scorers_of(&mut *tx, workspace, stamp.address).await? {
        let claims = claims::list_for(&mut *tx, workspace, scorer, &names).await?;
        let renewed = claims.into_iter().filter(|claim| {
            claim.address == stamp.address
                && claim.provider.as_ref().is_none_or(|provider| *provider == stamp.provider)
        });
        left.extend(renewed.map(|claim| HeldClaim { scorer, claim }));
    }
    Ok(left)
}

/// Ends claims, so that others who share their nullifiers may have them. If the holder has another live Stamp with the
/// nullifier, settling claims it again.
///
/// A claim that is missing no longer rests on the credential. Before its nullifier was locked it may have ended and
/// been taken by another address, or been extended by another Stamp of the holder.
async fn release(tx: &mut Tx, workspace: WorkspaceId, held: &[HeldClaim]) -> Result<()> {
    for held in held {
        if claims::release(&mut *tx, workspace, held).await? {
            let place = ScoreKey { workspace, scorer: held.scorer, address: held.claim.address };
            mark_others(tx, place, std::slice::from_ref(&held.claim.nullifier)).await?;
        }
    }
    Ok(())
}
