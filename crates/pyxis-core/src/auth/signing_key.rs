//! A key that signs payloads (`POST /sign`) and is never attached to a request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::settings::KindSettings;

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "signing_key",
    group: KindGroup::Elsewhere,
    label: "Signing key",
    explanation: "Signs payloads that a person has read and approved. The key is never sent anywhere.",
    description: "A key for `POST /sign`; it has no allowed hosts. The secret is 32 bytes in hexadecimal digits, and made by the program where it is left out.",
    settings: &[KindField::choice(
        "algorithm",
        "Algorithm",
        &[("ed25519", "ed25519"), ("secp256k1", "secp256k1"), ("p256", "p256")],
    )
    .without_default()
    .hint("Ethereum and Bitcoin use secp256k1. It stays as it is.")],
    computed: &[
        ("public_key", "Worked out from the secret, whatever is sent."),
        ("address", "Likewise; secp256k1 only."),
    ],
    secret: SecretForm::Text(
        KindField::secret("secret", "Private key")
            .optional()
            .with_note("leave empty to generate a new one")
            .hint("32 bytes in hexadecimal. It is never shown again."),
    ),
    secret_words: "32 bytes in hex, or made by Pyxis",
    example: "[Signing keys](signing.md)",
    has_hosts: false,
    ..CredentialKind::PLAIN
};

/// Settings of a signing key. The public parts are always derived from the secret; written values are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSigningKey {
    /// Signature algorithm.
    pub algorithm: KeyAlgorithm,
    /// The public key, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The Ethereum address; secp256k1 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// Algorithms of signing keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyAlgorithm {
    /// Edwards-curve signatures of whole messages (RFC 8032).
    Ed25519,
    /// ECDSA over the curve of Bitcoin and Ethereum.
    Secp256k1,
    /// ECDSA over the NIST curve.
    P256,
}

impl KeyAlgorithm {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::Secp256k1 => "secp256k1",
            Self::P256 => "p256",
        }
    }
}

impl KindSettings for TokenSigningKey {
    /// `Signing key secp256k1, 0xf39F…`.
    fn summary(&self) -> Option<String> {
        let public = self.address.as_deref().or(self.public_key.as_deref()).unwrap_or_default();
        Some(format!("Signing key {}, {public}", self.algorithm.as_str()))
    }
}
