//! Signatures in the form that EVM contracts recover: `r`, `s` and `v`, 65 bytes.

use pyxis_core::address::EvmAddress;
use pyxis_signing::recovery::{Signature, address_of};

use crate::AbiWord;

/// Address whose key signed `hash`. `None` for invalid signatures, and for the high-`s` variant that anyone can derive
/// from a valid one.
pub fn recover(hash: &AbiWord, signature: &[u8]) -> Option<EvmAddress> {
    Signature::from_bytes(signature).ok()?.signer(hash)
}

/// A secp256k1 key.
pub struct EvmSigningKey(k256::ecdsa::SigningKey);

impl EvmSigningKey {
    /// Creates a key from 32 bytes. `None` for the few values that are not valid keys.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        k256::ecdsa::SigningKey::from_slice(bytes).ok().map(Self)
    }

    pub fn address(&self) -> EvmAddress {
        address_of(self.0.verifying_key())
    }

    /// Signs a hash. Returns `r`, `s` and `v`, where `v` is 27 or 28.
    pub fn sign(&self, hash: &AbiWord) -> [u8; 65] {
        let (signature, recovery) = self.0.sign_prehash_recoverable(hash);
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&signature.to_bytes());
        bytes[64] = 27 + recovery.to_byte();
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_signer_and_no_other_hash() {
        let key = EvmSigningKey::from_bytes(&[7; 32]).unwrap();
        let signature = key.sign(&[1; 32]);
        assert_eq!(recover(&[1; 32], &signature), Some(key.address()));
        assert_ne!(recover(&[2; 32], &signature), Some(key.address()));
    }

    #[test]
    fn what_is_no_signature_names_nobody() {
        let key = EvmSigningKey::from_bytes(&[7; 32]).unwrap();
        let mut signature = key.sign(&[1; 32]);
        assert_eq!(recover(&[1; 32], &signature[..64]), None);
        assert_eq!(recover(&[1; 32], &[]), None);
        signature[64] = 99;
        assert_eq!(recover(&[1; 32], &signature), None);
        assert_eq!(recover(&[1; 32], &[0; 65]), None);
    }
}
