//! The Stamps of one address: contributions, reasons and revocation.

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::hex;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::{Claim, Input, ScoreResult, SigningDigest, Stamp, compute, weights_for};
use pyxis_core::stamp::StampName;
use pyxis_store::audit::AuditedStore;
use pyxis_store::nullifier_sets::{self, Sets};
use pyxis_store::revocations::RevocationRow;
use pyxis_store::scorers::{self, ScorerRow, Terms};
use pyxis_store::stamps::{self, StampRow};
use pyxis_store::{Store, claims};
use serde_json::json;

use super::{Error, MAX_NAME, Result, check_text};
use crate::engine::{self, ATTEMPTS, Revocation};
use crate::scoring_db::ScoringDb;
use crate::state::State;
use crate::terms_in_force;

/// An address in one scorer.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Faults of stored Stamps that cannot be read and therefore do not count.
    pub damaged: Vec<String>,
    pub scorer: ScorerRow,
    pub address: EvmAddress,
    /// The sum of the Stamps' current contributions.
    pub score: Decimal,
    /// True if the score reaches the threshold.
    pub passing: bool,
    /// Every stored Stamp, including expired ones, by name. Revoked ones are gone.
    pub stamps: Vec<StampLine>,
}

/// One Stamp.
#[derive(Clone, Debug)]
pub struct StampLine {
    /// The stored row.
    pub stamp: StampRow,
    /// Its weight in this scorer; `None`: the scorer does not weigh it.
    pub weight: Option<Decimal>,
    /// Its actual contribution.
    pub contribution: Decimal,
    /// Reason for the contribution.
    pub standing: StampStatus,
}

/// Reasons for a Stamp's contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampStatus {
    Counts,
    /// It counts with an earlier weight until it expires.
    KeepsWeight,
    /// The scorer gives it no weight, or a weight of zero.
    NoWeight,
    /// Another address verified the same credential first.
    Deduplicated {
        holder: EvmAddress,
        /// End of the holder's claim.
        until: UnixMillis,
    },
    /// Its validity is over.
    Expired,
    /// Its validity has not begun.
    NotYetValid,
}

impl StampStatus {
    /// One word, for machines.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counts => "counts",
            Self::KeepsWeight => "keeps_weight",
            Self::NoWeight => "no_weight",
            Self::Deduplicated { .. } => "deduplicated",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
        }
    }
}

/// Selects the credential to revoke.
#[derive(Clone, Debug)]
pub enum StampFilter {
    /// The one with this signing digest, stored or not.
    Digest(SigningDigest),
    /// The one that an address has stored under a name.
    Stored(EvmAddress, StampName),
}

/// Every Stamp of an address, as a scorer sees it now; `None`: the workspace's first scorer. Nothing is written.
pub async fn show(
    store: &Store,
    workspace: WorkspaceId,
    scorer: Option<ScorerId>,
    address: EvmAddress,
    now: UnixMillis,
) -> Result<Explored> {
    let scorer = match scorer {
        Some(id) => terms_in_force::find(store, workspace, id, now).await?,
        None => terms_in_force::list(store, workspace, now).await?.into_iter().next(),
    };
    let scorer = scorer.ok_or(Error::not_found("scorer"))?;
    let terms = scorers::terms(store, workspace, scorer.id).await?.ok_or(Error::not_found("scorer"))?;
    let stamps::DecodedStamps { stamps: rows, damaged } = stamps::all_of(store, workspace, address).await?;
    let listed = || rows.iter().flat_map(|row| &row.nullifiers);
    let sets = nullifier_sets::read(store, workspace, listed().collect()).await?;
    let counted: Vec<Stamp> = rows.iter().cloned().map(|row| sets.with_set_names(row.into())).collect();
    let wanted = sets.names(listed());
    let held = claims::list_for(store, workspace, scorer.id, &wanted).await?;
    let Terms { weights, threshold, kept, .. } = &terms;
    let weights = &weights_for(weights, kept, &counted);
    let input = Input { address, stamps: &counted, claims: &held, weights, threshold: *threshold, now };
    let settled = compute(&input);
    let stamps = rows.into_iter().map(|row| line(row, &terms, &settled, (&sets, &held), now)).collect();
    Ok(Explored { scorer, address, score: settled.score, passing: settled.passing, stamps, damaged })
}

fn line(
    stamp: StampRow,
    terms: &Terms,
    settled: &ScoreResult,
    (sets, held): (&Sets, &[Claim]),
    now: UnixMillis,
) -> StampLine {
    let weight = terms.weights.get(&stamp.provider).copied();
    let entry = settled.stamps.iter().find(|entry| entry.provider == stamp.provider);
    let standing = match entry {
        None if stamp.expires_at <= now => StampStatus::Expired,
        None => StampStatus::NotYetValid,
        Some(entry) if entry.dedup => {
            let holder = holder_of(&stamp, sets, held, entry.expires_at);
            StampStatus::Deduplicated { holder: holder.unwrap_or(stamp.address), until: entry.expires_at }
        }
        Some(entry) if entry.score > weight.unwrap_or_default() => StampStatus::KeepsWeight,
        Some(_) if weight.unwrap_or_default() == Decimal::ZERO => StampStatus::NoWeight,
        Some(_) => StampStatus::Counts,
    };
    StampLine { weight, contribution: entry.map(|entry| entry.score).unwrap_or_default(), standing, stamp }
}

/// The holder of the claim that ends at `until`.
fn holder_of(stamp: &StampRow, sets: &Sets, held: &[Claim], until: UnixMillis) -> Option<EvmAddress> {
    let names = sets.names(&stamp.nullifiers);
    let theirs = |claim: &&Claim| {
        claim.address != stamp.address && claim.expires_at == until && names.contains(&claim.nullifier)
    };
    held.iter().find(theirs).map(|claim| claim.address)
}

/// Revokes a credential for its issuer: its Stamp is removed, its claims end, and it cannot be added again.
pub async fn revoke(
    state: &State,
    actor: &Actor,
    which: StampFilter,
    reason: Option<String>,
) -> Result<(SigningDigest, Revocation)> {
    if let Some(reason) = &reason {
        check_text("reason", reason, 10 * MAX_NAME)?;
    }
    let digest = match which {
        StampFilter::Digest(digest) => digest,
        StampFilter::Stored(address, provider) => {
            let found = stamps::find(&state.store, actor.workspace, address, &provider).await?;
            found.ok_or(Error::not_found("Stamp"))?.digest
        }
    };
    let (revoked_by, revoked_at) = (actor.name.clone(), state.now());
    let row = RevocationRow { digest, revoked_at, revoked_by, reason };
    for _ in 0..ATTEMPTS {
        match revoke_once(&state.audited, &state.db, actor, &row).await {
            Ok(Some(done)) => return Ok((digest, done)),
            Ok(None) | Err(Error::Busy) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy)
}

/// `None`: a conflict with another transaction.
async fn revoke_once(
    audited: &AuditedStore,
    db: &ScoringDb,
    actor: &Actor,
    row: &RevocationRow,
) -> Result<Option<Revocation>> {
    let mut change = audited.begin(actor).await?;
    let done = engine::revoke_in(db, &mut change.tx, actor.workspace, row).await?;
    if let Some(Revocation { new, removed }) = done
        && (new || removed)
    {
        let detail = json!({ "digest": hex::encode(&row.digest), "reason": row.reason, "removed": removed });
        change.commit(AuditEvent::StampRevoked, detail).await?;
    }
    Ok(done)
}

/// Parses a signing digest: 64 hexadecimal digits in any case, with or without `0x`.
pub fn read_digest(text: &str) -> Result<SigningDigest> {
    let wrong = || Error::field("digest", "must be 64 hex characters, as the Stamp shows them");
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != 32 || !rest.is_empty() {
        return Err(wrong());
    }
    let mut digest = SigningDigest::default();
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let (high, low) = (nibble(pair[0]), nibble(pair[1]));
        *byte = high.zip(low).map(|(high, low)| high << 4 | low).ok_or_else(wrong)?;
    }
    Ok(digest)
}
