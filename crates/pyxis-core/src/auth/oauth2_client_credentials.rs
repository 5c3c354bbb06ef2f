//! OAuth 2.0 client credentials (RFC 6749, section 4.4). The secret has `client_id` and `client_secret`.

use serde::{Deserialize, Serialize};

use super::check;
use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::settings::{KindSettings, SettingError};

pub(super) const TOKEN_URL: KindField =
    KindField::line("token_url", "Token URL", "https://login.example.com/oauth/token")
        .hint("The provider's token endpoint.");
pub(super) const SCOPE: KindField = KindField::line("scope", "Scope", "read write")
    .hint("Permissions to request, separated by spaces.")
    .optional();
pub(super) const CLIENT_AUTH: KindField = KindField::choice(
    "client_auth",
    "Client authentication",
    &[("basic", "HTTP Basic"), ("body", "Form body")],
);
pub(super) const CLIENT_ID: KindField = KindField::line("client_id", "Client id", "");

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "oauth2_client_credentials",
    group: KindGroup::Token,
    label: "OAuth 2.0 client",
    explanation: "Requests carry an access token fetched with a client id and secret.",
    description: "RFC 6749, section 4.4. The secret has `client_id` and `client_secret`. Tokens are kept until they end.",
    settings: &[
        TOKEN_URL,
        SCOPE,
        KindField::line("audience", "Audience", "https://api.example.com")
            .hint("Only if the provider requires it.")
            .optional(),
        CLIENT_AUTH,
    ],
    secret: SecretForm::Fields(&[CLIENT_ID, KindField::secret("client_secret", "Client secret")]),
    secret_words: "object: `client_id`, `client_secret`",
    example: "`--auth oauth2_client_credentials --set token_url=https://login.example.com/token --set scope=read`",
    is_secret: |name| name != "client_id",
    is_derived: true,
    ..CredentialKind::PLAIN
};

/// Client authentication at a token endpoint (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientAuth {
    /// HTTP Basic.
    #[default]
    Basic,
    /// In the form.
    Body,
}

/// Source of an access token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSource {
    /// URL of the token endpoint.
    pub token_url: String,
    /// Scopes, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `audience`, which some providers require.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Client authentication at the token endpoint.
    #[serde(default)]
    pub client_auth: ClientAuth,
}

impl KindSettings for TokenSource {
    fn check(&self) -> Result<(), SettingError> {
        check::url("auth.token_url", &self.token_url)
    }

    fn requested_scope(&self) -> Option<&str> {
        Some(self.scope.as_deref().unwrap_or_default())
    }

    fn token_endpoint(&self) -> Option<String> {
        Some(format!("client {}", self.token_url))
    }
}
