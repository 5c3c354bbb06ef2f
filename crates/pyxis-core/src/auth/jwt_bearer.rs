//! A signed assertion, exchanged for an access token (RFC 7523). The secret is a private key as PEM.

use serde::{Deserialize, Serialize};

use super::check;
use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::oauth2_client_credentials::{SCOPE, TOKEN_URL};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "jwt_bearer",
    group: KindGroup::Token,
    label: "Signed assertion",
    explanation: "Requests carry an access token fetched with a signed assertion (JWT).",
    description: "RFC 7523. The secret is a private key as PEM.",
    settings: &[
        TOKEN_URL,
        KindField::line("issuer", "Issuer", "robot@project.iam.gserviceaccount.com")
            .hint("Issuer of the assertion (iss)."),
        KindField::line("subject", "Subject", "")
            .hint("Subject of the assertion (sub), if not the issuer.")
            .optional(),
        KindField::line("audience", "Audience", "")
            .hint("Audience of the assertion (aud), if not the token URL.")
            .optional(),
        SCOPE,
        KindField::line("key_id", "Key id", "").hint("Id of the issuer's key (kid).").optional(),
        KindField::choice(
            "algorithm",
            "Algorithm",
            &[("RS256", "RS256: RSA"), ("ES256", "ES256: P-256"), ("EdDSA", "EdDSA: Ed25519")],
        ),
    ],
    secret: SecretForm::Fields(&[KindField::PRIVATE_KEY]),
    secret_words: "private key, PEM",
    example: "`--auth jwt_bearer --set token_url=https://oauth2.googleapis.com/token --set issuer=me@project.iam.gserviceaccount.com --secret-file key.pem`",
    // A key file as a provider hands it out, whose other fields are names and addresses.
    is_secret: |name| name.is_empty() || name == "private_key",
    is_derived: true,
    has_pem_key: true,
    ..CredentialKind::PLAIN
};

/// A JWT that is exchanged for an access token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// URL of the token endpoint.
    pub token_url: String,
    /// `iss`.
    pub issuer: String,
    /// `sub`; defaults to the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// `aud`; defaults to the token endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Scopes, separated by spaces: as a claim and as a parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `kid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Signature algorithm.
    #[serde(default)]
    pub algorithm: JwtAlgorithm,
}

/// Algorithms of assertions (RFC 7518, RFC 8037).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JwtAlgorithm {
    /// RSA with SHA-256.
    #[default]
    #[serde(rename = "RS256")]
    Rs256,
    /// ECDSA over P-256.
    #[serde(rename = "ES256")]
    Es256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl KindSettings for Assertion {
    fn check(&self) -> Result<(), SettingError> {
        check::part("auth.issuer", &self.issuer)?;
        check::url("auth.token_url", &self.token_url)
    }

    fn requested_scope(&self) -> Option<&str> {
        Some(self.scope.as_deref().unwrap_or_default())
    }

    fn token_endpoint(&self) -> Option<String> {
        Some(format!("assertion {}", self.token_url))
    }
}
