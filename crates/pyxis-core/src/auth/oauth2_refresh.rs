//! OAuth 2.0 with a refresh token (RFC 6749, section 6). The secret has `client_id`, optionally `client_secret`, and
//! `refresh_token` once a person has connected the account.

use serde::{Deserialize, Serialize};

use super::check;
use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::oauth2_client_credentials::{CLIENT_AUTH, CLIENT_ID, ClientAuth, SCOPE, TOKEN_URL};
use super::settings::{KindSettings, SettingError};

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "oauth2_refresh",
    group: KindGroup::Token,
    label: "OAuth 2.0 account",
    explanation: "You connect an account at a provider. Requests carry access tokens that are renewed automatically.",
    description: "RFC 6749, section 6. The secret has `client_id`, perhaps `client_secret`, and `refresh_token` unless a person connects the account in the dashboard.",
    settings: &[
        KindField::line(
            "authorization_url",
            "Authorization URL",
            "https://login.example.com/oauth/authorize",
        )
        .hint("The provider's consent page. Without it, enter a refresh token below.")
        .optional(),
        TOKEN_URL,
        SCOPE,
        KindField::line(
            "authorization_parameters",
            "Extra authorization parameters",
            "access_type=offline&prompt=consent",
        )
        .hint("Parameters that the provider needs to issue a refresh token.")
        .optional(),
        CLIENT_AUTH,
    ],
    secret: SecretForm::Fields(&[
        CLIENT_ID,
        KindField::secret("client_secret", "Client secret")
            .optional()
            .hint("Leave blank for a public client."),
        KindField::secret("refresh_token", "Refresh token")
            .optional()
            .hint("Only if you have one. Otherwise connect the account after adding it."),
    ]),
    secret_words: "object: `client_id`, `client_secret` (optional), `refresh_token`",
    example: "see [OAuth 2.0](#oauth-20)",
    is_secret: |name| name != "client_id",
    is_derived: true,
    connects_account: true,
    ..CredentialKind::PLAIN
};

/// An account that a person connects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    /// URL of the token endpoint.
    pub token_url: String,
    /// Page where a person gives consent; without it, the secret must contain the refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_url: Option<String>,
    /// Scopes, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Further parameters of the authorization request, for example `access_type=offline&prompt=consent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_parameters: Option<String>,
    /// Client authentication at the token endpoint.
    #[serde(default)]
    pub client_auth: ClientAuth,
}

impl KindSettings for Connected {
    fn check(&self) -> Result<(), SettingError> {
        check::url("auth.token_url", &self.token_url)?;
        self.authorization_url.as_ref().map_or(Ok(()), |url| check::url("auth.authorization_url", url))
    }

    fn requested_scope(&self) -> Option<&str> {
        Some(self.scope.as_deref().unwrap_or_default())
    }

    fn token_endpoint(&self) -> Option<String> {
        Some(format!("account {}", self.token_url))
    }
}
