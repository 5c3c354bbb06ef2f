//! Scores: a pure function of Stamps, claims, weights, threshold and time (Spec 1, Score record).

mod record;
mod stored;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

pub use record::ScoreRecord;
pub use stored::{DamagedRecord, stored_to_json};

use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;
use crate::stamp::{Nullifier, StampName};

/// What the issuer signed, as 32 bytes: the identity of a credential.
pub type SigningDigest = [u8; 32];

/// What each Stamp contributes in one scorer.
pub type Weights = BTreeMap<StampName, Decimal>;

/// A credential of the address, as it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its name.
    pub provider: StampName,
    /// Identity of the credential.
    pub digest: SigningDigest,
    /// Start of validity.
    pub issued_at: UnixMillis,
    /// End of validity.
    pub expires_at: UnixMillis,
    /// What it shares with other credentials for the same account.
    pub nullifiers: Vec<Nullifier>,
}

/// Whose a nullifier is in a scorer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The nullifier.
    pub nullifier: Nullifier,
    /// The holder.
    pub address: EvmAddress,
    /// The name of the holder's Stamp; `None` in a claim from before names were kept.
    pub provider: Option<StampName>,
    /// The holder's credential.
    pub digest: SigningDigest,
    /// Start of the holder's possession, kept when the claim is extended; `None` in an older claim that did not record
    /// it.
    pub claimed_at: Option<UnixMillis>,
    /// When it ends, which is when the holder's credential expires.
    pub expires_at: UnixMillis,
}

/// Everything that a score depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The scored address.
    pub address: EvmAddress,
    /// Its Stamps, each name once, none of them revoked. A nullifier that belongs to a set goes by the set's name.
    pub stamps: &'a [Stamp],
    /// The claims on any of their nullifiers, ended or not, each nullifier once.
    pub claims: &'a [Claim],
    /// What each Stamp contributes; one that is missing contributes nothing.
    pub weights: &'a Weights,
    /// The score needed to pass.
    pub threshold: Decimal,
    /// The present moment.
    pub now: UnixMillis,
}

/// One Stamp of a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampEntry {
    /// Its name.
    pub provider: StampName,
    /// What it contributes.
    pub score: Decimal,
    /// True if another address holds one of its nullifiers.
    pub dedup: bool,
    /// When it expires; if it is deduplicated, when the other address's credential does.
    pub expires_at: UnixMillis,
}

/// A score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreResult {
    /// The sum of what the Stamps contribute.
    pub score: Decimal,
    /// True if that is enough. Never without a Stamp.
    pub passing: bool,
    /// When the first Stamp that contributes expires.
    pub expires_at: Option<UnixMillis>,
    /// The next moment at which time alone changes the score or what is shown with it; the end of time
    /// if there is none.
    pub valid_until: UnixMillis,
    /// Every live Stamp, by name.
    pub stamps: Vec<StampEntry>,
    /// Claims to write: new ones, and those of the address that were extended.
    pub claims: Vec<Claim>,
}

/// Computes a score (decisions, Deduplication: the first holder keeps).
///
/// A nullifier is the address's own if it claimed it, if nobody did, or if the claim has ended. One that
/// is not deduplicates every Stamp that carries it, and such a Stamp claims nothing.
#[must_use]
pub fn compute(input: &Input<'_>) -> ScoreResult {
    let held: HashMap<&Nullifier, &Claim> =
        input.claims.iter().map(|claim| (&claim.nullifier, claim)).collect();
    let mut settled = ScoreResult {
        score: Decimal::ZERO,
        passing: false,
        expires_at: None,
        valid_until: UnixMillis(i64::MAX),
        stamps: Vec::with_capacity(input.stamps.len()),
        claims: Vec::new(),
    };
    let mut wanted: BTreeMap<&Nullifier, &Stamp> = BTreeMap::new();
    for stamp in input.stamps.iter().filter(|stamp| input.now < stamp.expires_at) {
        if input.now < stamp.issued_at {
            settled.changes_at(stamp.issued_at);
            continue;
        }
        settled.changes_at(stamp.expires_at);
        let other_until = input.held_by_another_until(stamp, &held);
        match other_until {
            Some(until) => settled.changes_at(until),
            None => claim_all(stamp, &mut wanted),
        }
        settled.add(stamp, other_until, input.weights);
    }
    settled.stamps.sort_by(|a, b| a.provider.cmp(&b.provider));
    settled.passing = !settled.stamps.is_empty() && settled.score >= input.threshold;
    settled.claims = wanted
        .into_iter()
        .filter(|(nullifier, stamp)| input.extends(held.get(nullifier).copied(), stamp))
        .map(|(nullifier, stamp)| input.claim(nullifier, stamp, held.get(nullifier).copied()))
        .collect();
    settled
}

/// Of Stamps of one wallet with the same nullifier the one that lives longest holds the claim; among
/// equals the choice does not depend on their order.
fn claim_all<'a>(stamp: &'a Stamp, wanted: &mut BTreeMap<&'a Nullifier, &'a Stamp>) {
    for nullifier in &stamp.nullifiers {
        let holder = wanted.entry(nullifier).or_insert(stamp);
        if (stamp.expires_at, stamp.digest) > (holder.expires_at, holder.digest) {
            *holder = stamp;
        }
    }
}

impl ScoreResult {
    fn changes_at(&mut self, at: UnixMillis) {
        self.valid_until = self.valid_until.min(at);
    }

    fn add(&mut self, stamp: &Stamp, other_until: Option<UnixMillis>, weights: &Weights) {
        let weight = weights.get(&stamp.provider).copied().unwrap_or_default();
        let score = if other_until.is_some() { Decimal::ZERO } else { weight };
        if score > Decimal::ZERO {
            let first = self.expires_at.unwrap_or(stamp.expires_at);
            self.expires_at = Some(first.min(stamp.expires_at));
        }
        self.score = self.score + score;
        self.stamps.push(StampEntry {
            provider: stamp.provider.clone(),
            score,
            dedup: other_until.is_some(),
            expires_at: other_until.unwrap_or(stamp.expires_at),
        });
    }
}

impl Input<'_> {
    /// Until when another address holds a nullifier of `stamp`; `None` if none does.
    fn held_by_another_until(&self, stamp: &Stamp, held: &HashMap<&Nullifier, &Claim>) -> Option<UnixMillis> {
        let claims = stamp.nullifiers.iter().filter_map(|nullifier| held.get(nullifier));
        claims
            .filter(|claim| claim.address != self.address && self.now < claim.expires_at)
            .map(|claim| claim.expires_at)
            .max()
    }

    /// True if a claim by `stamp` says more than the one that is there. A claim of the address never
    /// becomes shorter: taking a long credential back and bringing a short one would free it early.
    fn extends(&self, held: Option<&Claim>, stamp: &Stamp) -> bool {
        self.own(held).is_none_or(|held| stamp.expires_at > held.expires_at)
    }

    /// `held`, if it is a live claim of the address.
    fn own<'c>(&self, held: Option<&'c Claim>) -> Option<&'c Claim> {
        held.filter(|held| held.address == self.address && self.now < held.expires_at)
    }

    fn claim(&self, nullifier: &Nullifier, stamp: &Stamp, held: Option<&Claim>) -> Claim {
        Claim {
            nullifier: nullifier.clone(),
            address: self.address,
            provider: Some(stamp.provider.clone()),
            digest: stamp.digest,
            claimed_at: self.own(held).map_or(Some(self.now), |held| held.claimed_at),
            expires_at: stamp.expires_at,
        }
    }
}

/// Merges the claims on nullifiers that turn out to be one account: the one that remains, or `None` if all have ended.
///
/// The address that has held its claim the longest keeps the account. Between claims of the same moment the one that
/// lasts longer wins, then the lower address. If that address holds several of them, its longest credential stands
/// behind the merged claim. The `nullifier` of the result is one of theirs.
#[must_use]
pub fn merge(claims: &[Claim], now: UnixMillis) -> Option<Claim> {
    let live = || claims.iter().filter(|claim| now < claim.expires_at);
    let first = live().min_by_key(|claim| (claim.claimed_at, Reverse(claim.expires_at), claim.address))?;
    let longest = live()
        .filter(|claim| claim.address == first.address)
        .max_by_key(|claim| (claim.expires_at, claim.digest))?;
    Some(Claim { claimed_at: first.claimed_at, ..longest.clone() })
}
