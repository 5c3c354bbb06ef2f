//! Revocation by the issuer, keyed by what was signed.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::Nullifier;
use pyxis_store::claims::Held;
use pyxis_store::nullifier_sets::Sets;
use pyxis_store::revocations::RevocationRow;
use pyxis_store::stamps::StampRow;
use pyxis_store::{Tx, claims, holders, revocations, scores, stamps};

use super::ingest::settle_known;
use super::{Place, hold_sets, mark_others, undisturbed};
use crate::books::Books;
use crate::error::Result;

/// What a revocation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Whether the credential was not revoked before.
    pub new: bool,
    /// Whether a Stamp was removed.
    pub removed: bool,
}

/// Revokes a credential, stored or not. Its claims end; another live Stamp of the holder with the same
/// nullifier takes them again.
pub async fn revoke(books: &Books, workspace: WorkspaceId, revocation: &RevocationRow) -> Result<Revocation> {
    undisturbed(|| async {
        let mut tx = books.begin().await?;
        let done = revoke_in(books, &mut tx, workspace, revocation).await?;
        if done.is_some() {
            tx.commit().await?;
        }
        Ok(done)
    })
    .await
}

/// The same in a transaction of the caller; `None`: roll back and begin again.
pub(crate) async fn revoke_in(
    books: &Books,
    tx: &mut Tx,
    workspace: WorkspaceId,
    revocation: &RevocationRow,
) -> Result<Option<Revocation>> {
    // With the digest locked nobody can bring the credential in any more.
    let mut done = Revocation { new: revocations::insert(tx, workspace, revocation).await?, removed: false };
    // A credential with several proofs has as many digests.
    for digest in revocations::all_of(&mut *tx, workspace, &[revocation.digest]).await? {
        if digest != revocation.digest {
            let row = RevocationRow { digest, ..revocation.clone() };
            done.new |= revocations::insert(tx, workspace, &row).await?;
        }
        let Some(removed) = revoke_digest(books, tx, workspace, &digest, revocation.revoked_at).await? else {
            return Ok(None);
        };
        done.removed |= removed;
    }
    Ok(Some(done))
}

/// Removes what stands on a digest; whether a Stamp was removed. `None`: roll back and begin again.
async fn revoke_digest(
    books: &Books,
    tx: &mut Tx,
    workspace: WorkspaceId,
    digest: &SigningDigest,
    now: UnixMillis,
) -> Result<Option<bool>> {
    let (removed, settled) = match stored(tx, workspace, digest).await? {
        Some(stamp) => (true, take_out(books, tx, workspace, &stamp, now).await?),
        // A Stamp that its holder removed may have left claims behind.
        None => (false, release_left(books, tx, workspace, digest, now).await?),
    };
    Ok(settled.then_some(removed))
}

/// The Stamp of a credential, its holder locked. It may go while that is waited for.
async fn stored(tx: &mut Tx, workspace: WorkspaceId, digest: &SigningDigest) -> Result<Option<StampRow>> {
    // One that cannot be read counts nowhere: it just goes.
    stamps::discard_damaged(tx, workspace, digest).await?;
    let Some(stamp) = stamps::find_by_digest(&mut *tx, workspace, digest).await? else { return Ok(None) };
    holders::lock(tx, workspace, stamp.address).await?;
    Ok(stamps::find_by_digest(&mut *tx, workspace, digest).await?)
}

async fn take_out(
    books: &Books,
    tx: &mut Tx,
    workspace: WorkspaceId,
    stamp: &StampRow,
    now: UnixMillis,
) -> Result<bool> {
    let all = stamps::all_of(&mut *tx, workspace, stamp.address).await?.stamps;
    let lists: Vec<_> = all.iter().map(|stamp| stamp.nullifiers.as_slice()).collect();
    let Some(sets) = hold_sets(tx, workspace, &[], &lists, now).await? else { return Ok(false) };
    stamps::remove(tx, workspace, stamp).await?;
    let held = claims::of_digest(&mut *tx, workspace, &stamp.digest).await?;
    release(tx, workspace, &held).await?;
    let left = left_by_renewals(tx, workspace, stamp, &sets).await?;
    release(tx, workspace, &left).await?;
    settle_known(books, tx, workspace, stamp.address, &sets, now).await
}

/// The holder's other claims on what the Stamp proves, by its name. They stand on credentials that this one
/// replaced and that would have lasted longer: with the current one gone, they must not outlive it. By another
/// name they stand on a credential that its issuer did not revoke, stored or not. Where no name is known, any may
/// be meant.
async fn left_by_renewals(
    tx: &mut Tx,
    workspace: WorkspaceId,
    stamp: &StampRow,
    sets: &Sets,
) -> Result<Vec<Held>> {
    let names = sets.names(&stamp.nullifiers);
    let mut left = Vec::new();
    for scorer in scores::scorers_of(&mut *tx, workspace, stamp.address).await? {
        let claims = claims::of(&mut *tx, workspace, scorer, &names).await?;
        let renewed = claims.into_iter().filter(|claim| {
            claim.address == stamp.address
                && claim.provider.as_ref().is_none_or(|provider| *provider == stamp.provider)
        });
        left.extend(renewed.map(|claim| Held { scorer, claim }));
    }
    Ok(left)
}

async fn release_left(
    books: &Books,
    tx: &mut Tx,
    workspace: WorkspaceId,
    digest: &SigningDigest,
    now: UnixMillis,
) -> Result<bool> {
    let held = claims::of_digest(&mut *tx, workspace, digest).await?;
    let Some(address) = held.first().map(|held| held.claim.address) else { return Ok(true) };
    let mut left: Vec<Nullifier> = held.iter().map(|held| held.claim.nullifier.clone()).collect();
    left.sort_unstable();
    left.dedup();
    holders::lock(tx, workspace, address).await?;
    let all = stamps::all_of(&mut *tx, workspace, address).await?.stamps;
    let lists: Vec<_> = all.iter().map(|stamp| stamp.nullifiers.as_slice()).collect();
    let Some(sets) = hold_sets(tx, workspace, &left, &lists, now).await? else { return Ok(false) };
    // Until their sets were locked they may have gone to another name or address.
    let held = claims::of_digest(&mut *tx, workspace, digest).await?;
    let is_locked = |held: &Held| held.claim.address == address && left.contains(&held.claim.nullifier);
    if !held.iter().all(is_locked) {
        return Ok(false);
    }
    release(tx, workspace, &held).await?;
    settle_known(books, tx, workspace, address, &sets, now).await
}

/// Ends claims: others who share their nullifiers may have them now. Where the holder has another live Stamp with the
/// nullifier, settling claims it again.
///
/// One that is not there any more no longer stands on the credential: until its nullifier was locked it may
/// have ended and been taken by another address, or been extended by another Stamp of the holder.
async fn release(tx: &mut Tx, workspace: WorkspaceId, held: &[Held]) -> Result<()> {
    for held in held {
        if claims::release(&mut *tx, workspace, held).await? {
            let place = Place { workspace, scorer: held.scorer, address: held.claim.address };
            mark_others(tx, place, std::slice::from_ref(&held.claim.nullifier)).await?;
        }
    }
    Ok(())
}
