//! Signatures as EVM contracts recover them: `r`, `s` and `v`, 65 bytes.

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use pyxis_core::address::EvmAddress;

use crate::{Word, keccak};

/// The address whose key made a signature over `hash`. `None` for what is no signature, and for the twin
/// with the high `s` that anybody can make of one.
pub fn recover(hash: &Word, signature: &[u8]) -> Option<EvmAddress> {
    let [signature @ .., v] = signature else { return None };
    let recovery = match v {
        0 | 27 => RecoveryId::new(false, false),
        1 | 28 => RecoveryId::new(true, false),
        _ => return None,
    };
    let signature = Signature::from_slice(signature).ok()?;
    if signature.normalize_s() != signature {
        return None;
    }
    VerifyingKey::recover_from_prehash(hash, &signature, recovery).ok().map(|key| address_of(&key))
}

/// A secp256k1 key.
pub struct SigningKey(k256::ecdsa::SigningKey);

impl SigningKey {
    /// From 32 bytes; `None` for the few numbers that are no key.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        k256::ecdsa::SigningKey::from_slice(bytes).ok().map(Self)
    }

    /// The address of the key.
    pub fn address(&self) -> EvmAddress {
        address_of(self.0.verifying_key())
    }

    /// Signs a hash: `r`, `s` and `v` of 27 or 28.
    pub fn sign(&self, hash: &Word) -> [u8; 65] {
        let (signature, recovery) = self.0.sign_prehash_recoverable(hash);
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&signature.to_bytes());
        bytes[64] = 27 + recovery.to_byte();
        bytes
    }
}

/// The last 20 bytes of the hash of both coordinates.
fn address_of(key: &VerifyingKey) -> EvmAddress {
    let hash = keccak(&key.to_sec1_point(false).as_bytes()[1..]);
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    EvmAddress(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_signer_and_no_other_hash() {
        let key = SigningKey::from_bytes(&[7; 32]).unwrap();
        let signature = key.sign(&[1; 32]);
        assert_eq!(recover(&[1; 32], &signature), Some(key.address()));
        assert_ne!(recover(&[2; 32], &signature), Some(key.address()));
    }

    #[test]
    fn what_is_no_signature_names_nobody() {
        let key = SigningKey::from_bytes(&[7; 32]).unwrap();
        let mut signature = key.sign(&[1; 32]);
        assert_eq!(recover(&[1; 32], &signature[..64]), None);
        assert_eq!(recover(&[1; 32], &[]), None);
        signature[64] = 99;
        assert_eq!(recover(&[1; 32], &signature), None);
        assert_eq!(recover(&[1; 32], &[0; 65]), None);
    }
}
