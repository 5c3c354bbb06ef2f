//! The keys of issuers, each learned from the first signature that it made.
//!
//! A file has millions of signatures by a handful of issuers. Whether a known key made one costs a third of
//! what it costs to recover who did: the points that are multiplied are always the same two, so what they are
//! multiplied with is looked up.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use k256::elliptic_curve::BatchNormalize;
use k256::elliptic_curve::ops::{Invert, Reduce};
use k256::elliptic_curve::sec1::ToSec1Point;
use k256::{AffinePoint, FieldBytes, ProjectivePoint, Scalar};
use pyxis_core::address::EvmAddress;
use pyxis_signing::eip712::{Word, words};

/// Most keys that are kept, 0.7 MiB each. The signatures of further issuers are recovered one by one.
const MAX_KEYS: usize = 16;

/// A signature, and which of the points with its `r` was meant: one below the order of the curve, always.
pub(super) type Signed = (Signature, RecoveryId);

/// Keys that are known by now. Threads share them.
#[derive(Default)]
pub struct Keys(RwLock<HashMap<EvmAddress, Arc<Multiples>>>);

impl Keys {
    /// Whether the key of `issuer` made `signed` over `hash`, exactly as [`signer`] says.
    pub(super) fn made(&self, issuer: EvmAddress, hash: &Word, signed: &Signed) -> bool {
        if let Some(key) = self.known(issuer) {
            return key.made(hash, signed);
        }
        let Some(key) = recover(hash, signed).filter(|key| address_of(key) == issuer) else { return false };
        self.learn(issuer, &key);
        true
    }

    fn known(&self, issuer: EvmAddress) -> Option<Arc<Multiples>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&issuer).cloned()
    }

    fn learn(&self, issuer: EvmAddress, key: &VerifyingKey) {
        let is_full = self.0.read().unwrap_or_else(PoisonError::into_inner).len() >= MAX_KEYS;
        if !is_full {
            let multiples = Arc::new(Multiples::of((*key.as_affine()).into()));
            let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if keys.len() < MAX_KEYS {
                keys.insert(issuer, multiples);
            }
        }
    }
}

/// The address whose key made a signature over `hash`.
pub(super) fn signer(hash: &Word, signed: &Signed) -> Option<EvmAddress> {
    recover(hash, signed).map(|key| address_of(&key))
}

fn recover(hash: &Word, (signature, recovery): &Signed) -> Option<VerifyingKey> {
    VerifyingKey::recover_from_prehash(hash, signature, *recovery).ok()
}

/// The last 20 bytes of the hash of both coordinates.
pub(super) fn address_of(key: &VerifyingKey) -> EvmAddress {
    let point = key.to_sec1_point(false);
    let hash = words::keccak(&point.as_bytes()[1..]);
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    EvmAddress(address)
}

/// Bytes of a scalar, and what a byte can be but 0.
const PLACES: usize = 32;
const DIGITS: usize = 255;

/// A point times every byte in every place of a scalar: its product with a scalar is the sum of 32 of these.
struct Multiples(Vec<AffinePoint>);

static GENERATOR: LazyLock<Multiples> = LazyLock::new(|| Multiples::of(ProjectivePoint::GENERATOR));

impl Multiples {
    fn of(mut point: ProjectivePoint) -> Self {
        let mut multiples = Vec::with_capacity(PLACES * DIGITS);
        for _place in 0..PLACES {
            let mut multiple = ProjectivePoint::IDENTITY;
            for _digit in 0..DIGITS {
                multiple += point;
                multiples.push(multiple);
            }
            point += multiple;
        }
        Self(ProjectivePoint::batch_normalize_vartime(multiples.as_slice()))
    }

    fn times(&self, scalar: &Scalar) -> ProjectivePoint {
        let digits = scalar.to_bytes();
        let places = self.0.chunks_exact(DIGITS).zip(digits.iter().rev());
        let terms = places.filter_map(|(place, digit)| Some(&place[usize::from(*digit).checked_sub(1)?]));
        terms.fold(ProjectivePoint::IDENTITY, |sum, term| sum + term)
    }

    /// Whether this key made the signature. Recovery takes R, the point that was signed with, from the
    /// signature, and finds the key Q in `s·R = z·G + r·Q`. Here Q is known, and R has to be the one.
    fn made(&self, hash: &Word, (signature, recovery): &Signed) -> bool {
        let (r, s) = signature.split_scalars();
        let inverse = *s.invert_vartime();
        let z = Scalar::reduce(&FieldBytes::from(*hash));
        let sum = GENERATOR.times(&(z * inverse)) + self.times(&(*r * inverse));
        let [point] = ProjectivePoint::batch_normalize_vartime(&[sum]);
        // Its first coordinate behind the parity of the second; a single byte for the point at infinity.
        let written = point.to_sec1_point(true);
        let parity = 2 + u8::from(recovery.is_y_odd());
        written.as_bytes().split_first() == Some((&parity, &r.to_bytes()[..]))
    }
}

#[cfg(test)]
mod tests;
