//! Configuration of the kinds that derive or fetch the attached value.

use serde::{Deserialize, Serialize};

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

/// A signature over parts of the request.
///
/// Texts are templates: `{method}`, `{host}`, `{path}`, `{query}`, `{target}` (path and query as on the wire),
/// `{body}`, `{body_sha256}` (hexadecimal digits), `{timestamp}` (seconds), `{timestamp_ms}`, `{timestamp_iso}`,
/// `{nonce}`, `{secret.field}`; in headers also `{signature}`. `\n` is a line end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hmac {
    /// The hash under the HMAC.
    #[serde(default)]
    pub hash: HmacHash,
    /// Template of the signed text.
    pub content: String,
    /// Encoding of the secret's `key`.
    #[serde(default)]
    pub key_encoding: KeyEncoding,
    /// Encoding of the signature.
    #[serde(default)]
    pub signature_encoding: SignatureEncoding,
    /// The headers to set; at least one contains the signature.
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

/// Encoding of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyEncoding {
    /// The bytes of the text itself.
    #[default]
    Text,
    /// Hexadecimal digits.
    Hex,
    /// Base64.
    Base64,
}

/// Encoding of a signature.
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

/// An installation of a GitHub App.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GithubApp {
    /// Id (or client id) of the app.
    pub app_id: String,
    /// Id of the installation.
    pub installation_id: String,
    /// URL of the API; `https://api.github.com` unless you run your own server.
    #[serde(default = "github")]
    pub api_url: String,
}

fn github() -> String {
    "https://api.github.com".to_owned()
}
