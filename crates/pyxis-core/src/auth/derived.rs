//! Configuration of the kinds that make or fetch what they attach.

use serde::{Deserialize, Serialize};

/// OAuth 1.0a.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oauth1 {
    /// Form of `oauth_token` without a token.
    #[serde(default, skip_serializing_if = "WithoutToken::is_omit")]
    pub without_token: WithoutToken,
}

/// Form of `oauth_token` without a token. RFC 5849, section 3.1, lets it be left out; some servers want it
/// empty, and the two have different signatures.
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

    /// The choice of a name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "omit" => Some(Self::Omit),
            "empty" => Some(Self::Empty),
            _ => None,
        }
    }
}

/// A signature over parts of the request.
///
/// Texts are templates: `{method}`, `{host}`, `{path}`, `{query}`, `{target}` (path and query as on the
/// wire), `{body}`, `{body_sha256}` (hexadecimal digits), `{timestamp}` (seconds), `{timestamp_ms}`,
/// `{timestamp_iso}`, `{nonce}`, `{secret.field}`; in headers also `{signature}`. `\n` is a line end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hmac {
    /// The hash under the HMAC.
    #[serde(default)]
    pub hash: HmacHash,
    /// What is signed.
    pub content: String,
    /// How the secret `key` is written.
    #[serde(default)]
    pub key_encoding: KeyEncoding,
    /// How the signature is written.
    #[serde(default)]
    pub signature_encoding: SignatureEncoding,
    /// The headers to set; the signature stands in at least one.
    pub headers: Vec<super::HeaderFormat>,
}

/// Hashes of [`Hmac`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HmacHash {
    /// SHA-1, for old APIs.
    Sha1,
    /// SHA-256.
    #[default]
    Sha256,
    /// SHA-512.
    Sha512,
}

/// How a key is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyEncoding {
    /// Its bytes are those of the text.
    #[default]
    Text,
    /// Hexadecimal digits.
    Hex,
    /// Base64.
    Base64,
}

/// How a signature is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignatureEncoding {
    /// Hexadecimal digits, lower case.
    #[default]
    Hex,
    /// Base64.
    Base64,
    /// Base64 for URLs, without padding.
    Base64url,
}

/// How a client says who it is at a token endpoint (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientAuth {
    /// HTTP Basic.
    #[default]
    Basic,
    /// In the form.
    Body,
}

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSource {
    /// The token endpoint.
    pub token_url: String,
    /// Scopes, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `audience`, which some providers want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// How the client says who it is.
    #[serde(default)]
    pub client_auth: ClientAuth,
}

/// An account that a person connects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connected {
    /// The token endpoint.
    pub token_url: String,
    /// Where a person gives consent; without it, the refresh token is brought along with the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_url: Option<String>,
    /// Scopes, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Further parameters of the authorization request, for example `access_type=offline&prompt=consent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_parameters: Option<String>,
    /// How the client says who it is.
    #[serde(default)]
    pub client_auth: ClientAuth,
}

/// A JWT that is exchanged for an access token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    /// The token endpoint.
    pub token_url: String,
    /// `iss`.
    pub issuer: String,
    /// `sub`; the issuer where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// `aud`; the token endpoint where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// Scopes, separated by spaces: as a claim and as a parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `kid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// How it is signed.
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

/// An installation of a GitHub App.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GithubApp {
    /// Id (or client id) of the app.
    pub app_id: String,
    /// Id of the installation.
    pub installation_id: String,
    /// The API, `https://api.github.com` unless it is a server of your own.
    #[serde(default = "github")]
    pub api_url: String,
}

fn github() -> String {
    "https://api.github.com".to_owned()
}
