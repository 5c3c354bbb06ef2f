//! Recovers the signer of an ECDSA signature over secp256k1 in Ethereum's format. That is `r`, `s` and `v`, 65
//! bytes (SEC 1, section 4.1.6; the low `s` of EIP-2).

use k256::ecdsa::VerifyingKey;
use pyxis_core::address::EvmAddress;
use secp256k1::Message;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};

use crate::eip712::abi_words::{AbiWord, keccak};

/// Reason that a signature is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSignature {
    /// The signature is not 65 bytes, `r` or `s` is outside the curve's range, or `v` is not 0, 1, 27 or 28.
    #[error("not a signature: write 65 bytes (r, s and v), with a v of 27, 28, 0 or 1")]
    Malformed,
    /// The signature has a high `s`. Anyone can derive such a variant from a valid signature.
    #[error("the signature has a high s; use its low-s form")]
    HighS,
}

/// A signature from which the signer's address can be recovered.
pub struct Signature(RecoverableSignature);

impl Signature {
    /// Parses `r`, `s` and `v`. `v` is 27 or 28 as in Ethereum, or 0 or 1 as some libraries write it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadSignature> {
        let [scalars @ .., v] = bytes else { return Err(BadSignature::Malformed) };
        let recovery = match v {
            0 | 27 => RecoveryId::Zero,
            1 | 28 => RecoveryId::One,
            _ => return Err(BadSignature::Malformed),
        };
        // The library rejects too large values here, but zero only during recovery.
        if scalars.chunks(32).any(|scalar| scalar == [0; 32]) {
            return Err(BadSignature::Malformed);
        }
        let signature =
            RecoverableSignature::from_compact(scalars, recovery).map_err(|_| BadSignature::Malformed)?;
        let given = signature.to_standard();
        let mut low = given;
        low.normalize_s();
        if low == given { Ok(Self(signature)) } else { Err(BadSignature::HighS) }
    }

    /// Address whose key signed `hash`. `None` if no key can be recovered.
    pub fn signer(&self, hash: &AbiWord) -> Option<EvmAddress> {
        let key = self.0.recover_ecdsa(Message::from_digest(*hash)).ok()?;
        Some(address(&key.serialize_uncompressed()[1..]))
    }
}

/// The address of a public key.
pub fn address_of(key: &VerifyingKey) -> EvmAddress {
    address(&key.to_sec1_point(false).as_bytes()[1..])
}

/// The address of a compressed public key (SEC 1). `None` if it is not a valid key.
pub fn address_of_compressed(key: &[u8]) -> Option<EvmAddress> {
    // The library also accepts a form that leaves out the sign.
    let key = Some(key).filter(|key| matches!(key, [2 | 3, ..]) && key.len() == 33)?;
    VerifyingKey::from_sec1_bytes(key).ok().map(|key| address_of(&key))
}

/// The last 20 bytes of the hash of both coordinates.
fn address(coordinates: &[u8]) -> EvmAddress {
    let hash = keccak(coordinates);
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    EvmAddress(address)
}

#[cfg(test)]
mod tests;
