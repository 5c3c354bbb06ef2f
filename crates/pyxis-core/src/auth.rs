//! How a credential is attached to a request: configuration only, never the secret.

use serde::{Deserialize, Serialize};

/// Auth kinds (decisions, Credentials). Serialised as `{"kind": …, …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Auth {
    /// `Authorization: Bearer <secret>`.
    Bearer {},
    /// One or more headers, each from a format. Written `{"kind":"header","name":…,"format":…}` for
    /// one, or with `headers`, a list of the same, for several.
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
}

/// The headers of [`Auth::Header`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Headers {
    /// One, written flat.
    One(HeaderFormat),
    /// Several.
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

/// Where requests with a credential go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connector {
    /// Straight to the target.
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
