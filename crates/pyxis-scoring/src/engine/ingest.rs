//! Adds and removes Stamps.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_store::nullifier_sets::Sets;
use pyxis_store::stamps::{NewStamp, StampRow};
use pyxis_store::{Tx, addresses, issuers, revocations, scores, stamp_keys, stamps};

use super::live::Live;
use super::{ScoreKey, hold_sets, retry_on_conflict, settle_in};
use crate::credential::VerifiedCredential;
use crate::error::{Error, Result};
use crate::scoring_db::ScoringDb;

/// Outcome for one credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngestOutcome {
    /// The first of its name.
    Accepted,
    /// It replaced an older one.
    Replaced,
    /// Already stored.
    Unchanged,
    /// A newer one of its name is stored, or arrived with it.
    Superseded,
    /// Its issuer revoked it.
    Revoked,
}

/// Outcome for an own Stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnIngestOutcome {
    /// That of its credential.
    Credential(IngestOutcome),
    /// A live credential of its name from another issuer is stored, and stays.
    OtherIssuer,
    /// The workspace does not trust its own issuer.
    UntrustedIssuer,
}

/// Stores credentials of one address, settles its scores in the scorers that know it, and returns each credential's
/// outcome. The issuers were looked up earlier: an entry is `None` if its issuer was removed since. After that removal
/// is answered, no more of the issuer's credentials are stored.
pub async fn ingest(
    db: &ScoringDb,
    workspace: WorkspaceId,
    address: EvmAddress,
    credentials: &[&VerifiedCredential],
    now: UnixMillis,
) -> Result<Vec<Option<IngestOutcome>>> {
    let mut dids: Vec<String> = credentials.iter().map(|credential| credential.issuer.clone()).collect();
    dids.sort_unstable();
    dids.dedup();
    retry_on_conflict(|| async {
        let mut tx = db.begin().await?;
        let listed = issuers::lock_trusted(&mut tx, workspace, &dids).await?;
        let is_listed = |credential: &&VerifiedCredential| listed.contains(&credential.issuer);
        let trusted: Vec<&VerifiedCredential> = credentials.iter().copied().filter(is_listed).collect();
        let incoming = IncomingCredentials::read(&mut tx, workspace, address, &trusted, now).await?;
        let Some(outcomes) = incoming.store(db, &mut tx, now).await? else { return Ok(None) };
        tx.commit().await?;
        let mut outcomes = outcomes.into_iter();
        let outcome =
            |credential: &&VerifiedCredential| if is_listed(credential) { outcomes.next() } else { None };
        Ok(Some(credentials.iter().map(outcome).collect()))
    })
    .await
}

/// Stores one own Stamp in the caller's transaction. `None`: roll back and start again.
pub(crate) async fn ingest_own(
    db: &ScoringDb,
    tx: &mut Tx,
    workspace: WorkspaceId,
    credential: &VerifiedCredential,
    now: UnixMillis,
) -> Result<Option<OwnIngestOutcome>> {
    let listed = issuers::lock_trusted(tx, workspace, std::slice::from_ref(&credential.issuer)).await?;
    if listed.is_empty() {
        return Ok(Some(OwnIngestOutcome::UntrustedIssuer));
    }
    let keys = stamp_keys::list(&mut *tx, workspace).await?;
    let own: Vec<String> = keys.into_iter().map(|key| key.did).collect();
    let credentials = [credential];
    let incoming = IncomingCredentials::read(tx, workspace, credential.address, &credentials, now).await?;
    if incoming.would_replace_others(&own, now) {
        return Ok(Some(OwnIngestOutcome::OtherIssuer));
    }
    let outcomes = incoming.store(db, tx, now).await?;
    Ok(outcomes.and_then(|outcomes| outcomes.first().copied()).map(OwnIngestOutcome::Credential))
}

/// Credentials for one address, with the stored state that they meet.
struct IncomingCredentials<'a> {
    credentials: &'a [&'a VerifiedCredential],
    revoked: Vec<SigningDigest>,
    /// Those that are not revoked. If there are none, the address may never have had a Stamp.
    batch: Option<IncomingBatch<'a>>,
}

impl<'a> IncomingCredentials<'a> {
    /// Reads the stored state, with the address locked.
    async fn read(
        tx: &mut Tx,
        workspace: WorkspaceId,
        address: EvmAddress,
        credentials: &'a [&'a VerifiedCredential],
        now: UnixMillis,
    ) -> Result<Self> {
        let digests: Vec<_> =
            credentials.iter().flat_map(|credential| credential.all_digests()).copied().collect();
        let revoked = revocations::revoked_among(tx, workspace, &digests).await?;
        let good: Vec<&VerifiedCredential> =
            credentials.iter().copied().filter(|one| !is_revoked(one, &revoked)).collect();
        for credential in good.iter().filter(|one| !one.digests.is_empty()) {
            revocations::note_same(tx, workspace, &credential.digests).await?;
        }
        if good.is_empty() {
            return Ok(Self { credentials, revoked, batch: None });
        }
        addresses::ensure(tx, workspace, address, now).await?;
        let batch = IncomingBatch::read(tx, workspace, address, good).await?;
        Ok(Self { credentials, revoked, batch: Some(batch) })
    }

    fn would_replace_others(&self, issuers: &[String], now: UnixMillis) -> bool {
        self.batch.as_ref().is_some_and(|batch| batch.would_replace_others(issuers, now))
    }

    /// Stores and settles, and returns each outcome. `None`: roll back and start again.
    async fn store(self, db: &ScoringDb, tx: &mut Tx, now: UnixMillis) -> Result<Option<Vec<IngestOutcome>>> {
        let Self { credentials, revoked, batch } = self;
        let Some(batch) = batch else { return Ok(Some(vec![IngestOutcome::Revoked; credentials.len()])) };
        let workspace = batch.workspace;
        let Some(sets) = hold_sets(tx, workspace, &[], &batch.lists(), now).await? else { return Ok(None) };
        let Some(outcomes) = batch.store(db, tx, &sets, now).await? else { return Ok(None) };
        let mut outcomes = outcomes.into_iter();
        let outcome = |one: &&VerifiedCredential| {
            if is_revoked(one, &revoked) {
                IngestOutcome::Revoked
            } else {
                outcomes.next().expect("an outcome of each that is not revoked")
            }
        };
        Ok(Some(credentials.iter().map(outcome).collect()))
    }
}

fn is_revoked(credential: &VerifiedCredential, revoked: &[SigningDigest]) -> bool {
    credential.all_digests().iter().any(|digest| revoked.contains(digest))
}

/// Unrevoked credentials for an address that is locked.
pub(super) struct IncomingBatch<'a> {
    workspace: WorkspaceId,
    address: EvmAddress,
    credentials: Vec<&'a VerifiedCredential>,
    there: stamps::DecodedStamps,
}

impl<'a> IncomingBatch<'a> {
    /// Reads the stored state.
    pub(super) async fn read(
        tx: &mut Tx,
        workspace: WorkspaceId,
        address: EvmAddress,
        credentials: Vec<&'a VerifiedCredential>,
    ) -> Result<Self> {
        let there = stamps::all_of(&mut *tx, workspace, address).await?;
        Ok(Self { workspace, address, credentials, there })
    }

    /// True if a live credential of another issuer than these has the name of an incoming one.
    fn would_replace_others(&self, issuers: &[String], now: UnixMillis) -> bool {
        let is_named = |stamp: &StampRow| self.credentials.iter().any(|one| one.provider == stamp.provider);
        self.there
            .stamps
            .iter()
            .any(|stamp| stamp.expires_at > now && is_named(stamp) && !issuers.contains(&stamp.issuer))
    }

    /// The nullifiers of each stored Stamp and of each incoming credential. All their claims are settled, so their sets
    /// must be locked. A credential ties its nullifiers even if a newer one is stored.
    pub(super) fn lists(&self) -> Vec<&[Nullifier]> {
        let there = self.there.stamps.iter().map(|stamp| stamp.nullifiers.as_slice());
        there.chain(self.credentials.iter().map(|credential| credential.nullifiers.as_slice())).collect()
    }

    /// Stores and settles, with the sets locked, and returns each outcome. `None`: start again.
    pub(super) async fn store(
        self,
        db: &ScoringDb,
        tx: &mut Tx,
        sets: &Sets,
        now: UnixMillis,
    ) -> Result<Option<Vec<IngestOutcome>>> {
        let Self { workspace, address, credentials, there } = self;
        let stamps::DecodedStamps { stamps: mut stored, damaged } = there;
        let mut outcomes = Vec::with_capacity(credentials.len());
        for credential in &credentials {
            if !damaged.is_empty() && !stored.iter().any(|stamp| stamp.provider == credential.provider) {
                // A stored one of this name, or this one under another name, has an unreadable row.
                stamps::discard(tx, workspace, address, &credential.provider).await?;
                stamps::discard_damaged(tx, workspace, &credential.digest).await?;
            }
            outcomes.push(place_one(tx, workspace, &mut stored, credential, now).await?);
        }
        let changed = outcomes
            .iter()
            .any(|outcome| matches!(outcome, IngestOutcome::Accepted | IngestOutcome::Replaced));
        let settled = !changed || settle_known(db, tx, workspace, address, sets, now).await?;
        Ok(settled.then_some(outcomes))
    }
}

async fn place_one(
    tx: &mut Tx,
    workspace: WorkspaceId,
    stored: &mut Vec<StampRow>,
    credential: &VerifiedCredential,
    now: UnixMillis,
) -> Result<IngestOutcome> {
    let new = new_stamp(credential, now);
    let found = stored.iter().position(|stamp| stamp.provider == credential.provider);
    let (id, outcome) = match found.map(|index| stored.swap_remove(index)) {
        None => (stamps::insert(tx, workspace, &new).await?, IngestOutcome::Accepted),
        Some(old) if old.digest == new.digest => {
            stored.push(old);
            return Ok(IngestOutcome::Unchanged);
        }
        Some(old) if (old.issued_at, old.digest) > (new.issued_at, new.digest) => {
            stored.push(old);
            return Ok(IngestOutcome::Superseded);
        }
        Some(old) => {
            let id = stamps::replace(tx, workspace, &old, &new).await?.ok_or(Error::Busy)?;
            (id, IngestOutcome::Replaced)
        }
    };
    stored.push(row_of(id, new));
    Ok(outcome)
}

pub(super) fn new_stamp(credential: &VerifiedCredential, now: UnixMillis) -> NewStamp {
    NewStamp {
        address: credential.address,
        provider: credential.provider.clone(),
        issuer: credential.issuer.clone(),
        issued_at: credential.issued_at,
        expires_at: credential.expires_at,
        digest: credential.digest,
        nullifiers: credential.nullifiers.clone(),
        received_at: now,
        credential: credential.credential.clone(),
    }
}

fn row_of(id: i64, new: NewStamp) -> StampRow {
    StampRow {
        id,
        address: new.address,
        provider: new.provider,
        issuer: new.issuer,
        issued_at: new.issued_at,
        expires_at: new.expires_at,
        digest: new.digest,
        nullifiers: new.nullifiers,
        received_at: new.received_at,
    }
}

/// Settles the scores of an address whose Stamps changed, in the scorers that know it or are open to votes. The
/// sets of its nullifiers must be locked. `false`: start again.
pub(super) async fn settle_known(
    db: &ScoringDb,
    tx: &mut Tx,
    workspace: WorkspaceId,
    address: EvmAddress,
    sets: &Sets,
    now: UnixMillis,
) -> Result<bool> {
    let mut scorers = scores::scorers_of(&mut *tx, workspace, address).await?;
    scorers.extend(db.open_to_votes());
    scorers.sort_unstable();
    scorers.dedup();
    if !scorers.is_empty() {
        let live = Live::read(&mut *tx, workspace, address, now).await?.with_set_names(sets);
        for scorer in scorers {
            let place = ScoreKey { workspace, scorer, address };
            match settle_in(db, tx, place, &live, now, db.is_open_to_votes(scorer)).await {
                // It was removed, and its scores are being deleted; or it is another workspace's.
                Ok(Some(_)) | Err(Error::NoScorer) => {}
                Ok(None) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(true)
}

/// Removes Stamps for their holder, all or none, and returns how many existed. Claims stay until the credential would
/// have expired: one credential must not move between wallets.
pub async fn remove(
    db: &ScoringDb,
    workspace: WorkspaceId,
    address: EvmAddress,
    providers: &[StampName],
    now: UnixMillis,
) -> Result<u32> {
    retry_on_conflict(|| async {
        let mut tx = db.begin().await?;
        if !addresses::lock(&mut tx, workspace, address).await? {
            return Ok(Some(0));
        }
        let stamps::DecodedStamps { stamps: stored, .. } =
            stamps::all_of(&mut tx, workspace, address).await?;
        let lists: Vec<_> = stored.iter().map(|stamp| stamp.nullifiers.as_slice()).collect();
        let Some(sets) = hold_sets(&mut tx, workspace, &[], &lists, now).await? else { return Ok(None) };
        let mut removed = 0;
        for provider in providers {
            // Unreadable ones are not among them.
            let was_there = match stored.iter().find(|stamp| stamp.provider == *provider) {
                Some(stamp) => stamps::remove(&mut tx, workspace, stamp).await?,
                None => stamps::discard(&mut tx, workspace, address, provider).await?,
            };
            removed += u32::from(was_there);
        }
        if removed == 0 {
            return Ok(Some(0));
        }
        if !settle_known(db, &mut tx, workspace, address, &sets, now).await? {
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some(removed))
    })
    .await
}
