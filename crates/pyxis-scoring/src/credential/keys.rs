//! The keys of issuers, each learned from the first signature that it made.
//!
//! A file has millions of signatures by a handful of issuers. Whether a known key made one costs a fraction
//! of what it costs to recover who did: the points that are multiplied are always the same two, so what they are
//! multiplied with is looked up, and many signatures are checked together.

mod multiples;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use k256::elliptic_curve::ff::BatchInverter;
use k256::elliptic_curve::ops::Reduce;
use k256::{FieldBytes, ProjectivePoint, Scalar};
use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::{Word, words};

use multiples::{Multiples, Product};

/// Most keys that are kept, 0.6 MiB each. The signatures of further issuers are recovered one by one.
const MAX_KEYS: usize = 16;
/// Signatures that are checked together: what they need stays in the cache of a core.
const BATCH: usize = 256;

/// A signature, and which of the points with its `r` was meant: one below the order of the curve, always.
pub(super) type Signed = (Signature, RecoveryId);

/// A signature over `hash` that is said to be by `issuer`.
pub(super) struct Claimed {
    pub(super) issuer: EvmAddress,
    pub(super) hash: Word,
    pub(super) signed: Signed,
}

impl Claimed {
    /// Whether the key that made it is the issuer's.
    pub(super) fn holds(&self) -> bool {
        self.recover().is_some()
    }

    /// The key that made it, if it is the issuer's.
    fn recover(&self) -> Option<VerifyingKey> {
        let (signature, recovery) = &self.signed;
        let key = VerifyingKey::recover_from_prehash(&self.hash, signature, *recovery).ok()?;
        (address_of(&key) == self.issuer).then_some(key)
    }
}

/// Keys that are known by now. Threads share them.
#[derive(Default)]
pub struct Keys(RwLock<HashMap<EvmAddress, Arc<Multiples>>>);

impl Keys {
    /// Of each whether it holds, exactly as [`Claimed::holds`] says.
    pub(super) fn hold_each(&self, claimed: &[Claimed]) -> Vec<bool> {
        let mut hold = vec![false; claimed.len()];
        let mut known = Vec::with_capacity(claimed.len());
        for (index, claim) in claimed.iter().enumerate() {
            match self.known(claim.issuer) {
                Some(key) => known.push((index, claim, key)),
                None => hold[index] = self.learn(claim),
            }
        }
        for batch in known.chunks(BATCH) {
            let made = made_each(batch.iter().map(|(_, claim, key)| (*claim, &**key)));
            for ((index, ..), made) in batch.iter().zip(made) {
                hold[*index] = made;
            }
        }
        hold
    }

    fn known(&self, issuer: EvmAddress) -> Option<Arc<Multiples>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&issuer).cloned()
    }

    /// Whether it holds; then the key is known from now on.
    fn learn(&self, claim: &Claimed) -> bool {
        let Some(key) = claim.recover() else { return false };
        let is_full = self.0.read().unwrap_or_else(PoisonError::into_inner).len() >= MAX_KEYS;
        if !is_full {
            let multiples = Arc::new(Multiples::of((*key.as_affine()).into()));
            let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if keys.len() < MAX_KEYS {
                keys.insert(claim.issuer, multiples);
            }
        }
        true
    }
}

/// The last 20 bytes of the hash of both coordinates.
pub(super) fn address_of(key: &VerifyingKey) -> EvmAddress {
    let point = key.to_sec1_point(false);
    let hash = words::keccak(&point.as_bytes()[1..]);
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    EvmAddress(address)
}

static GENERATOR: LazyLock<Multiples> = LazyLock::new(|| Multiples::of(ProjectivePoint::GENERATOR));

/// Of each whether the key beside it made the signature. Recovery takes R, the point that was signed with, from
/// the signature, and finds the key Q in `s·R = z·G + r·Q`. Here Q is known, and R has to be the one.
fn made_each<'k>(claimed: impl Iterator<Item = (&'k Claimed, &'k Multiples)> + Clone) -> Vec<bool> {
    let mut inverses: Vec<Scalar> = claimed.clone().map(|(claim, _)| *claim.signed.0.s()).collect();
    let mut scratch = inverses.clone();
    BatchInverter::invert_with_external_scratch(&mut inverses, &mut scratch);
    let products: Vec<[Product<'_>; 2]> = claimed
        .clone()
        .zip(inverses)
        .map(|((claim, key), inverse)| {
            let z = Scalar::reduce(&FieldBytes::from(claim.hash));
            let r = *claim.signed.0.r();
            [Product::of(&GENERATOR, &(z * inverse)), Product::of(key, &(r * inverse))]
        })
        .collect();
    let Some(points) = multiples::sums(&products) else {
        return claimed.map(|(claim, _)| claim.holds()).collect();
    };
    let is_meant = |((claim, _), point): ((&Claimed, _), Option<multiples::Point>)| {
        let (signature, recovery) = &claim.signed;
        point.is_some_and(|point| {
            point.is_odd() == recovery.is_y_odd() && point.x() == signature.r().to_bytes()
        })
    };
    claimed.zip(points).map(is_meant).collect()
}

#[cfg(test)]
mod tests;
