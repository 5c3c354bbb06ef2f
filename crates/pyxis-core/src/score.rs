//! Scores: a pure function of Stamps, claims, weights, threshold and time
//! (`docs/reference/behavior/scoring.md#scores`).

mod kept;
mod record;
mod stored;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

pub use kept::{KeptWeight, kept_after, weights_for};
pub use record::ScoreRecord;
pub use stored::{DamagedRecord, stored_to_json};

use crate::address::EvmAddress;
use crate::clock::UnixMillis;
use crate::decimal::Decimal;
use crate::stamp::{Nullifier, StampName};

/// Hash of what the issuer signed: the identity of a credential.
pub type SigningDigest = [u8; 32];

/// Each Stamp's weight in one scorer.
pub type Weights = BTreeMap<StampName, Decimal>;

/// A credential of the address in the form that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub provider: StampName,
    /// Identity of the credential.
    pub digest: SigningDigest,
    /// Start of validity.
    pub issued_at: UnixMillis,
    /// End of validity.
    pub expires_at: UnixMillis,
    /// Identifiers that it shares with other credentials for the same account.
    pub nullifiers: Vec<Nullifier>,
}

/// The holder of a nullifier in a scorer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Unique within a scorer.
    pub nullifier: Nullifier,
    /// The holder.
    pub address: EvmAddress,
    /// The name of the holder's Stamp; `None` in a claim from before names were stored.
    pub provider: Option<StampName>,
    /// The holder's credential.
    pub digest: SigningDigest,
    /// Start of the claim, unchanged when the claim is extended; `None` in an older claim that did not record it.
    pub claimed_at: Option<UnixMillis>,
    /// End of the claim: the expiry of the holder's credential.
    pub expires_at: UnixMillis,
}

/// All inputs of a score.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The scored address.
    pub address: EvmAddress,
    /// The address's Stamps, each name once, none of them revoked. A nullifier in a set is replaced by the set's name.
    pub stamps: &'a [Stamp],
    /// The claims on any of their nullifiers, ended or not, each nullifier once.
    pub claims: &'a [Claim],
    /// Each Stamp's weight; a missing one is zero.
    pub weights: &'a Weights,
    /// The score needed to pass.
    pub threshold: Decimal,
    /// The current time.
    pub now: UnixMillis,
}

/// One Stamp of a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampEntry {
    pub provider: StampName,
    /// Its contribution.
    pub score: Decimal,
    /// True if another address holds one of its nullifiers.
    pub dedup: bool,
    /// Its expiry; if it is deduplicated, the expiry of the other address's credential.
    pub expires_at: UnixMillis,
}

/// Result of a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreResult {
    /// The sum of the Stamps' contributions.
    pub score: Decimal,
    /// True if the score reaches the threshold. Never without a Stamp.
    pub passing: bool,
    /// Earliest expiry of a Stamp that contributes.
    pub expires_at: Option<UnixMillis>,
    /// The next moment at which time alone changes the score or its displayed data; the end of time if there is none.
    pub valid_until: UnixMillis,
    /// Every live Stamp, by name.
    pub stamps: Vec<StampEntry>,
    /// Claims to write: new ones, and those of the address that were extended.
    pub claims: Vec<Claim>,
}

/// Computes a score (the first holder keeps the claim; `docs/reference/behavior/scoring.md#deduplication`).
///
/// A nullifier belongs to the address if it claimed it, if no one did, or if the claim has ended. Any other nullifier
/// deduplicates every Stamp that carries it, and such a Stamp claims nothing.
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

/// Among one wallet's Stamps with the same nullifier, the one that expires last holds the claim. Among equals, the
/// choice does not depend on their order.
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
    /// End of another address's claim on a nullifier of `stamp`; `None` if there is none.
    fn held_by_another_until(&self, stamp: &Stamp, held: &HashMap<&Nullifier, &Claim>) -> Option<UnixMillis> {
        let claims = stamp.nullifiers.iter().filter_map(|nullifier| held.get(nullifier));
        claims
            .filter(|claim| claim.address != self.address && self.now < claim.expires_at)
            .map(|claim| claim.expires_at)
            .max()
    }

    /// True if a claim by `stamp` adds to the existing one. A claim of the address never becomes shorter: replacing a
    /// long credential by a short one would otherwise free it early.
    fn extends(&self, held: Option<&Claim>, stamp: &Stamp) -> bool {
        self.own_claim(held).is_none_or(|held| stamp.expires_at > held.expires_at)
    }

    /// `held`, if it is a live claim of the address.
    fn own_claim<'c>(&self, held: Option<&'c Claim>) -> Option<&'c Claim> {
        held.filter(|held| held.address == self.address && self.now < held.expires_at)
    }

    fn claim(&self, nullifier: &Nullifier, stamp: &Stamp, held: Option<&Claim>) -> Claim {
        Claim {
            nullifier: nullifier.clone(),
            address: self.address,
            provider: Some(stamp.provider.clone()),
            digest: stamp.digest,
            claimed_at: self.own_claim(held).map_or(Some(self.now), |held| held.claimed_at),
            expires_at: stamp.expires_at,
        }
    }
}

/// Merges the claims on nullifiers that turn out to be one account: the remaining claim, or `None` if all have ended.
///
/// The address that has held its claim the longest keeps the account. Between claims of the same moment the one that
/// lasts longer wins, then the lower address. If that address holds several of them, its longest credential backs the
/// merged claim. The result's `nullifier` is one of theirs.
#[must_use]
pub fn merge(claims: &[Claim], now: UnixMillis) -> Option<Claim> {
    let live = || claims.iter().filter(|claim| now < claim.expires_at);
    let first = live().min_by_key(|claim| (claim.claimed_at, Reverse(claim.expires_at), claim.address))?;
    let longest = live()
        .filter(|claim| claim.address == first.address)
        .max_by_key(|claim| (claim.expires_at, claim.digest))?;
    Some(Claim { claimed_at: first.claimed_at, ..longest.clone() })
}
