//! Keys that sign payloads: Ed25519 (RFC 8032), and ECDSA over secp256k1 and P-256 (FIPS 186-5) with deterministic
//! nonces (RFC 6979).

use k256::ecdsa::signature::hazmat::PrehashSigner;
use pyxis_core::address::EvmAddress;
use pyxis_core::auth::KeyAlgorithm;
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::hex;
use pyxis_core::secret::SecretBytes;
use serde::{Deserialize, Serialize};
use sha3::{Digest, Keccak256};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::recovery::address_of;
pub use pyxis_core::auth::KeyAlgorithm as Algorithm;

/// The private key is invalid: not 32 bytes, or outside the curve's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a private key of this curve: write its 32 bytes as 64 hex characters")]
pub struct BadKey;

/// Input of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToSign {
    /// A message, unhashed.
    Message(Vec<u8>),
    /// A 32-byte digest.
    Digest([u8; 32]),
}

/// A signature and the public data to verify it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Signed)]
pub struct MessageSignature {
    /// Algorithm of the key.
    #[schema(value_type = KeyAlgorithm)]
    pub algorithm: Algorithm,
    /// 64 bytes as hex: `R ‖ S` for Ed25519, `r ‖ s` for ECDSA with `s` in the lower half.
    #[schema(
        example = "a1a526cbcdd9b0d1c11856a40e228318d2adfdd1105f66c574f85ecf0e4849c235fc016e8fc1c98dd030b2f584bd34329376adccda5c72f05b82b15183f8bd59"
    )]
    pub signature: String,
    /// Hex: 32 bytes for Ed25519, otherwise 65 bytes (uncompressed SEC 1).
    #[schema(
        example = "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
    )]
    pub public_key: String,
    /// Ethereum address with checksum (EIP-55); secp256k1 only.
    #[schema(required, example = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf")]
    pub address: Option<String>,
    /// 0 or 1, the parity of `R`, with which the public key can be recovered; secp256k1 only.
    #[schema(required, maximum = 1, example = 1)]
    pub recovery_id: Option<u8>,
}

enum PrivateKey {
    Ed25519(ed25519_dalek::SigningKey),
    Secp256k1(k256::ecdsa::SigningKey),
    P256(p256::ecdsa::SigningKey),
}

/// A private key, wiped when dropped.
pub struct SigningKey(PrivateKey);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

/// Generates the private scalar or seed of a new key.
pub fn generate(algorithm: Algorithm, entropy: &dyn Entropy) -> SecretBytes {
    loop {
        let seed = SecretBytes::new(entropy::bytes::<32>(entropy).to_vec());
        // All but one in 2^32 values are in range.
        if SigningKey::new(algorithm, seed.expose()).is_ok() {
            return seed;
        }
    }
}

impl SigningKey {
    /// Creates a key from 32 bytes.
    pub fn new(algorithm: Algorithm, secret: &[u8]) -> Result<Self, BadKey> {
        let bytes: Zeroizing<[u8; 32]> = Zeroizing::new(secret.try_into().map_err(|_| BadKey)?);
        Ok(Self(match algorithm {
            Algorithm::Ed25519 => PrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(&bytes)),
            Algorithm::Secp256k1 => {
                PrivateKey::Secp256k1(k256::ecdsa::SigningKey::from_slice(&*bytes).map_err(|_| BadKey)?)
            }
            Algorithm::P256 => {
                PrivateKey::P256(p256::ecdsa::SigningKey::from_slice(&*bytes).map_err(|_| BadKey)?)
            }
        }))
    }

    /// Parses a hex key, with or without `0x`.
    pub fn from_hex(algorithm: Algorithm, text: &str) -> Result<Self, BadKey> {
        let bytes = hex::decode_either(text).map(Zeroizing::new).ok_or(BadKey)?;
        Self::new(algorithm, &bytes)
    }

    /// Algorithm of the key.
    pub fn algorithm(&self) -> Algorithm {
        match &self.0 {
            PrivateKey::Ed25519(_) => Algorithm::Ed25519,
            PrivateKey::Secp256k1(_) => Algorithm::Secp256k1,
            PrivateKey::P256(_) => Algorithm::P256,
        }
    }

    /// Public key in the format of [`MessageSignature::public_key`].
    pub fn public_key(&self) -> String {
        let bytes = match &self.0 {
            PrivateKey::Ed25519(key) => key.verifying_key().to_bytes().to_vec(),
            PrivateKey::Secp256k1(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            PrivateKey::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
        };
        hex::encode(&bytes)
    }

    /// Ethereum address in the format of [`MessageSignature::address`].
    pub fn address(&self) -> Option<String> {
        let PrivateKey::Secp256k1(key) = &self.0 else { return None };
        Some(checksummed(&address_of(key.verifying_key())))
    }

    /// Signature of a digest as contracts recover it: `r`, `s` and `v`, where `v` is 27 or 28. `None` if the key is not
    /// secp256k1.
    pub fn sign_recoverable(&self, digest: &[u8; 32]) -> Option<[u8; 65]> {
        let PrivateKey::Secp256k1(key) = &self.0 else { return None };
        let (signature, recovery) = key.sign_prehash_recoverable(digest);
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&signature.to_bytes());
        bytes[64] = 27 + recovery.to_byte();
        Some(bytes)
    }

    /// Signature of a digest as JSON Web Tokens have it (ES256): `r` and `s`, with `s` in the lower half. `None` if the
    /// key is not P-256.
    pub fn sign_es256(&self, digest: &[u8; 32]) -> Option<[u8; 64]> {
        let PrivateKey::P256(key) = &self.0 else { return None };
        let signature: p256::ecdsa::Signature = key.sign_prehash(digest).ok()?;
        Some(signature.normalize_s().to_bytes().into())
    }

    /// Signs. `None` if the algorithm needs a digest but `what` is a message.
    pub fn sign(&self, what: &ToSign) -> Option<MessageSignature> {
        let (signature, recovery_id) = match (&self.0, what) {
            (PrivateKey::Ed25519(key), ToSign::Message(message)) => (ed25519(key, message), None),
            (PrivateKey::Ed25519(key), ToSign::Digest(digest)) => (ed25519(key, digest), None),
            (PrivateKey::Secp256k1(key), ToSign::Digest(digest)) => {
                let (signature, id) = key.sign_prehash_recoverable(digest);
                (signature.to_bytes().to_vec(), Some(id.to_byte()))
            }
            (PrivateKey::P256(key), ToSign::Digest(digest)) => {
                let signature: p256::ecdsa::Signature = key.sign_prehash(digest).ok()?;
                (signature.normalize_s().to_bytes().to_vec(), None)
            }
            (PrivateKey::Secp256k1(_) | PrivateKey::P256(_), ToSign::Message(_)) => return None,
        };
        Some(MessageSignature {
            algorithm: self.algorithm(),
            signature: hex::encode(&signature),
            public_key: self.public_key(),
            address: self.address(),
            recovery_id,
        })
    }
}

fn ed25519(key: &ed25519_dalek::SigningKey, message: &[u8]) -> Vec<u8> {
    use ed25519_dalek::Signer;
    key.sign(message).to_bytes().to_vec()
}

/// EIP-55: a letter is upper case where the hash of the address has a nibble above seven.
fn checksummed(address: &EvmAddress) -> String {
    let lower = hex::encode(&address.0);
    let hash = hex::encode(&Keccak256::digest(lower.as_bytes()));
    let digits = lower
        .chars()
        .zip(hash.chars())
        .map(|(digit, nibble)| if nibble > '7' { digit.to_ascii_uppercase() } else { digit });
    "0x".chars().chain(digits).collect()
}

#[cfg(test)]
mod tests;
