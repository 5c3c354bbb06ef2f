//! OAuth 1.0a with HMAC-SHA1 (RFC 5849), signed here. The secret has `consumer_key` and `consumer_secret`. Three-legged
//! use also needs `token` and `token_secret`.

use serde::{Deserialize, Serialize};

use super::kind::{CredentialKind, KindField, KindGroup, SecretForm};
use super::settings::KindSettings;

pub(super) const KIND: CredentialKind = CredentialKind {
    name: "oauth1",
    group: KindGroup::Signature,
    label: "OAuth 1.0a",
    explanation: "Each request is signed with OAuth 1.0a (HMAC-SHA1).",
    description: "OAuth 1.0a with HMAC-SHA1, signed here. The secret has `consumer_key`, `consumer_secret`, and `token` and `token_secret` unless the use is two-legged.",
    settings: &[KindField::choice(
        "without_token",
        "Without an access token",
        &[("omit", "Omit oauth_token"), ("empty", "Send an empty oauth_token, as some servers require")],
    )],
    secret: SecretForm::Fields(&[
        KindField::line("consumer_key", "Consumer key", ""),
        KindField::secret("consumer_secret", "Consumer secret"),
        KindField::line("token", "Access token", "")
            .optional()
            .hint("Leave blank to sign as the application only."),
        KindField::secret("token_secret", "Access token secret").optional(),
    ]),
    secret_words: "object: `consumer_key`, `consumer_secret`, `token`, `token_secret`",
    example: "`--auth oauth1` (with `--api-base`: by a [sidecar](signer.md))",
    is_secret: |name| name != "consumer_key",
    is_derived: true,
    ..CredentialKind::PLAIN
};

/// Settings of OAuth 1.0a.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oauth1 {
    /// Form of `oauth_token` without a token.
    #[serde(default, skip_serializing_if = "WithoutToken::is_omit")]
    pub without_token: WithoutToken,
}

/// Form of `oauth_token` without a token. RFC 5849, section 3.1, allows leaving it out. Some servers want it empty, and
/// the two have different signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithoutToken {
    /// It is left out.
    #[default]
    Omit,
    /// It is sent, and signed, with an empty value.
    Empty,
}

impl WithoutToken {
    /// True for the default.
    pub const fn is_omit(&self) -> bool {
        matches!(self, Self::Omit)
    }

    /// The choice with this name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "omit" => Some(Self::Omit),
            "empty" => Some(Self::Empty),
            _ => None,
        }
    }
}

impl KindSettings for Oauth1 {}
