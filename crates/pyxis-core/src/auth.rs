//! Methods of attaching a credential to a request: configuration only, never the secret.

pub mod derived;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Auth kinds (`docs/reference/credentials.md#kinds`). Serialized as `{"kind": …, …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// `Authorization: Bearer <secret>`.
    Bearer {},
    /// One or more headers, each from a format. One is written `{"kind":"header","name":…,"format":…}`; several are a
    /// list of the same in `headers`.
    Header(Headers),
    /// `Authorization: Basic base64(username:password)` (RFC 7617). The secret is an object with
    /// `username` and `password`, or a string `username:password`.
    Basic {},
    /// A query parameter.
    Query {
        /// The parameter's name.
        #[serde(alias = "name")]
        parameter: String,
    },
    /// A cookie.
    Cookie {
        /// The cookie's name.
        name: String,
    },
    /// OAuth 1.0a with HMAC-SHA1 (RFC 5849), signed here. The secret has `consumer_key` and `consumer_secret`.
    /// Three-legged use also needs `token` and `token_secret`.
    Oauth1(derived::Oauth1),
    /// AWS Signature Version 4. The secret has `access_key_id`, `secret_access_key` and optionally `session_token`.
    AwsSigv4(AwsScope),
    /// A signature over parts of the request, in headers.
    Hmac(derived::Hmac),
    /// OAuth 2.0 client credentials (RFC 6749, section 4.4). The secret has `client_id` and `client_secret`.
    Oauth2ClientCredentials(derived::TokenSource),
    /// OAuth 2.0 with a refresh token (RFC 6749, section 6). The secret has `client_id`, optionally `client_secret`,
    /// and `refresh_token` once a person has connected the account.
    Oauth2Refresh(derived::Connected),
    /// A signed assertion, exchanged for an access token (RFC 7523). The secret is a private key as PEM.
    JwtBearer(derived::Assertion),
    /// An installation of a GitHub App. The secret is the app's private key as PEM.
    GithubApp(derived::GithubApp),
    /// A client certificate. The secret has `certificate` (a chain) and `private_key`, both PEM.
    Mtls {},
    /// A key that signs payloads (`POST /sign`) and is never attached to a request.
    SigningKey(TokenSigningKey),
}

/// Scope of an AWS signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwsScope {
    /// For example `eu-central-1`.
    pub region: String,
    /// For example `s3`.
    pub service: String,
}

impl Auth {
    /// The same kind with these values in its parts. Fails if it has no such part.
    pub fn with_parts<'p>(
        &self,
        parts: impl IntoIterator<Item = (&'p str, &'p str)>,
    ) -> Result<Self, serde_json::Error> {
        let mut fields = serde_json::to_value(self)?;
        for (name, value) in parts {
            fields[name] = value.into();
        }
        serde_json::from_value(fields)
    }

    /// True if the attached value is derived from the secret, or fetched with it, for each request.
    pub const fn is_derived(&self) -> bool {
        match self {
            Self::Bearer {}
            | Self::Header(_)
            | Self::Basic {}
            | Self::Query { .. }
            | Self::Cookie { .. }
            | Self::SigningKey(_) => false,
            Self::Oauth1(_)
            | Self::AwsSigv4(_)
            | Self::Hmac(_)
            | Self::Oauth2ClientCredentials(_)
            | Self::Oauth2Refresh(_)
            | Self::JwtBearer(_)
            | Self::GithubApp(_)
            | Self::Mtls {} => true,
        }
    }
}

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

/// The headers of [`Auth::Header`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Headers {
    /// One, written flat.
    One(HeaderFormat),
    /// Several headers, as a list.
    Several(HeaderList),
}

/// Several headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderList {
    /// The headers to set.
    pub headers: Vec<HeaderFormat>,
}

impl Headers {
    /// The headers to set.
    pub fn list(&self) -> &[HeaderFormat] {
        match self {
            Self::One(header) => std::slice::from_ref(header),
            Self::Several(several) => &several.headers,
        }
    }
}

/// A header and the text to put there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderFormat {
    /// Header name.
    pub name: String,
    /// Text with `{secret}` or `{secret.field}` in it; default `{secret}`.
    #[serde(default = "default_format")]
    pub format: String,
}

fn default_format() -> String {
    "{secret}".to_owned()
}

/// Route of requests that use a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connector {
    /// Straight to the target.
    #[default]
    Direct,
    /// To a signing sidecar, which forwards to the target.
    Sidecar,
}

impl Connector {
    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Sidecar => "sidecar",
        }
    }
}
