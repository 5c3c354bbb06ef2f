//! Methods of attaching a credential to a request: configuration only, never the secret.
//!
//! Each kind is a module here: its settings and its [`CredentialKind`]. The registry below lists them.

pub mod aws_sigv4;
pub mod basic;
pub mod bearer;
mod check;
pub mod connector;
pub mod cookie;
pub mod github_app;
pub mod header;
pub mod hmac;
pub mod jwt_bearer;
pub mod kind;
pub mod mtls;
pub mod oauth1;
pub mod oauth2_client_credentials;
pub mod oauth2_refresh;
pub mod query;
pub mod settings;
pub mod sidecar;
pub mod signing_key;

use serde::{Deserialize, Serialize};

pub use aws_sigv4::AwsScope;
pub use basic::BasicPair;
pub use bearer::BearerToken;
pub use connector::Connector;
pub use cookie::CookieName;
pub use github_app::GithubApp;
pub use header::{HeaderFormat, HeaderList, Headers};
pub use hmac::{Hmac, HmacHash, KeyEncoding, SignatureEncoding};
pub use jwt_bearer::{Assertion, JwtAlgorithm};
pub use kind::{CredentialKind, HeaderUse, KindField, KindGroup, KindInput, SecretForm};
pub use mtls::ClientCertificate;
pub use oauth1::{Oauth1, WithoutToken};
pub use oauth2_client_credentials::{ClientAuth, TokenSource};
pub use oauth2_refresh::Connected;
pub use query::QueryParameter;
pub use settings::{KindSettings, SettingError};
pub use signing_key::{KeyAlgorithm, TokenSigningKey};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident($settings:ty) in $module:ident,)+) => {
        /// Auth kinds (`docs/reference/credentials.md#kinds`). Serialized as `{"kind": …, …}`.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        pub enum Auth {
            $($(#[$doc])* $variant($settings),)+
        }

        impl Auth {
            /// Description of its kind.
            pub const fn kind(&self) -> &'static CredentialKind {
                match self { $(Self::$variant(_) => &$module::KIND,)+ }
            }

            /// Its settings, whatever its kind.
            pub fn settings(&self) -> &dyn KindSettings {
                match self { $(Self::$variant(settings) => settings,)+ }
            }
        }

        impl CredentialKind {
            /// Every kind, and the sidecar, which stands for a connector.
            pub const ALL: &'static [&'static Self] = &[$(&$module::KIND,)+ &sidecar::KIND];
            /// The kind of a credential that says nothing else.
            pub const USUAL: &'static Self = &bearer::KIND;
            /// Credentials of a signing sidecar.
            pub const SIDECAR: &'static Self = &sidecar::KIND;
        }
    };
}

kinds! {
    /// `Authorization: Bearer <secret>`.
    Bearer(BearerToken) in bearer,
    /// One or more headers, each from a format. One is written `{"kind":"header","name":…,"format":…}`; several are a
    /// list of the same in `headers`.
    Header(Headers) in header,
    /// `Authorization: Basic base64(username:password)` (RFC 7617). The secret is an object with `username` and
    /// `password`, or a string `username:password`.
    Basic(BasicPair) in basic,
    /// A query parameter.
    Query(QueryParameter) in query,
    /// A cookie.
    Cookie(CookieName) in cookie,
    /// OAuth 1.0a, signed here.
    Oauth1(Oauth1) in oauth1,
    /// AWS Signature Version 4.
    AwsSigv4(AwsScope) in aws_sigv4,
    /// A signature over parts of the request, in headers.
    Hmac(Hmac) in hmac,
    /// A client certificate.
    Mtls(ClientCertificate) in mtls,
    /// OAuth 2.0 with a refresh token.
    Oauth2Refresh(Connected) in oauth2_refresh,
    /// OAuth 2.0 client credentials.
    Oauth2ClientCredentials(TokenSource) in oauth2_client_credentials,
    /// A signed assertion, exchanged for an access token.
    JwtBearer(Assertion) in jwt_bearer,
    /// An installation of a GitHub App.
    GithubApp(GithubApp) in github_app,
    /// A key that signs payloads and is never attached to a request.
    SigningKey(TokenSigningKey) in signing_key,
}

impl CredentialKind {
    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().copied().find(|kind| kind.name == name)
    }

    /// Kinds whose credentials are attached to requests here.
    pub fn attached() -> impl Iterator<Item = &'static Self> {
        Self::ALL.iter().copied().filter(|kind| kind.group != KindGroup::Elsewhere)
    }
}

impl KindGroup {
    /// Kinds of the group, in the order of the registry.
    pub fn kinds(self) -> impl Iterator<Item = &'static CredentialKind> {
        CredentialKind::ALL.iter().copied().filter(move |kind| kind.group == self)
    }
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
        self.kind().is_derived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_no_two_fields_of_a_page_share_one() {
        for kind in CredentialKind::ALL {
            assert_eq!(CredentialKind::from_name(kind.name).map(|found| found.name), Some(kind.name));
            let fields = kind.settings.iter().chain(kind.secret_fields()).chain(kind.secret.text_field());
            let mut names: Vec<_> = fields.map(|field| field.name).collect();
            names.extend(["name", "description", "allowed_hosts", "allow_http", "kind", "csrf", "url"]);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", kind.name);
        }
    }

    #[test]
    fn a_kind_reads_the_settings_that_it_lists_and_no_others() {
        for kind in CredentialKind::ALL.iter().filter(|kind| kind.name != "sidecar") {
            let mut json = serde_json::json!({"kind": kind.name});
            for field in kind.settings {
                json[field.member] = match field.input {
                    KindInput::Choice(choices) => choices[0].0.into(),
                    _ => "https://example.com/".into(),
                };
            }
            if let Some(used) = kind.headers {
                json["headers"] = serde_json::json!([{"name": used.name, "format": used.format}]);
            }
            let auth: Auth = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(auth.kind().name, kind.name);
            json["unheard"] = "of".into();
            assert!(serde_json::from_value::<Auth>(json).is_err(), "{}", kind.name);
        }
    }
}
