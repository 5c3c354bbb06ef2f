//! Signatures as EVM contracts recover them: `r`, `s` and `v`, 65 bytes.

use pyxis_core::address::EvmAddress;
use pyxis_signing::recovery::{Signature, address_of};

use crate::Word;

/// The address whose key made a signature over `hash`. `None` for what is no signature, and for the twin
/// with the high `s` that anybody can make of one.
pub fn recover(hash: &Word, signature: &[u8]) -> Option<EvmAddress> {
    Signature::from_bytes(signature).ok()?.signer(hash)
}

/// A secp256k1 key.
pub struct EvmSigningKey(k256::ecdsa::SigningKey);

impl EvmSigningKey {
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
