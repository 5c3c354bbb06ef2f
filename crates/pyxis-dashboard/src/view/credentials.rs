//! Credentials: what agents may use and never see. No view model here ever holds a stored secret.

use askama::Template;

use super::{Problems, Search, Shell, When, in_section};

/// `GET /app/credentials`.
#[derive(Clone, Debug, Template)]
#[template(path = "credentials.html")]
pub struct CredentialsPage {
    /// The frame.
    pub shell: Shell,
    /// The search field and pages.
    pub search: Search,
    /// Those found, by name.
    pub credentials: Vec<CredentialLine>,
}

/// One credential in the list.
#[derive(Clone, Debug)]
pub struct CredentialLine {
    /// Name.
    pub name: String,
    /// Description; may be empty.
    pub description: String,
    /// How it is attached: `Bearer token`, `Header X-Api-Key`, `Signing sidecar`.
    pub kind: String,
    /// Where it may be sent; empty means nowhere yet.
    pub allowed_hosts: Vec<String>,
    /// Its policy in a few words.
    pub policy: String,
    /// Last use.
    pub last_used: Option<When>,
}

/// How a credential is attached; `?kind=` of the new page and the hidden field `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `Authorization: Bearer`. Fields: `secret`.
    Bearer,
    /// One or more headers. Fields: `header_name` and `header_format`, repeated in pairs (a pair with
    /// an empty name is skipped; an empty format means `{secret}`), `secret`.
    Header,
    /// HTTP basic. Fields: `username`, `password`.
    Basic,
    /// A query parameter. Fields: `parameter`, `secret`.
    Query,
    /// A cookie. Fields: `cookie_name`, `secret`.
    Cookie,
    /// A signing sidecar. Fields: `api_base`, `secret` (may be empty).
    Sidecar,
    /// A key that signs payloads. Fields: `algorithm`, `secret` (empty: a new key is made).
    SigningKey,
}

impl Kind {
    /// All, in the order of the tabs.
    pub const ALL: [Self; 7] =
        [Self::Bearer, Self::Header, Self::Basic, Self::Query, Self::Cookie, Self::Sidecar, Self::SigningKey];

    /// The value in forms and links.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Header => "header",
            Self::Basic => "basic",
            Self::Query => "query",
            Self::Cookie => "cookie",
            Self::Sidecar => "sidecar",
            Self::SigningKey => "signing_key",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What the tab says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer token",
            Self::Header => "Headers",
            Self::Basic => "Basic",
            Self::Query => "Query",
            Self::Cookie => "Cookie",
            Self::Sidecar => "Sidecar",
            Self::SigningKey => "Signing key",
        }
    }

    /// What happens to a request, in one sentence.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Bearer => "Sent as Authorization: Bearer followed by the secret. Most APIs use this.",
            Self::Header => "Sent in one or more headers of your choice, each made from a format.",
            Self::Basic => "Sent as a user name and password (HTTP Basic).",
            Self::Query => "Added to the address as a query parameter.",
            Self::Cookie => "Sent as a cookie.",
            Self::Sidecar => "Requests go to a signing sidecar, which signs and forwards them.",
            Self::SigningKey => {
                "Signs payloads that a person has read and approved; it is never sent anywhere."
            }
        }
    }
}

/// Everything but secrets, as typed. Fields: `name`, `description`, `allowed_hosts` (one a line),
/// `allow_http=on`, and those of the [`Kind`]. A form that is shown again has its secrets empty.
#[derive(Clone, Debug, Default)]
pub struct CredentialForm {
    /// Name; cannot be changed later.
    pub name: String,
    /// Description.
    pub description: String,
    /// One a line.
    pub allowed_hosts: String,
    /// Whether targets may be plain http.
    pub allow_http: bool,
    /// Name and format of each header; the page adds empty rows for more.
    pub headers: Vec<(String, String)>,
    /// Name of the query parameter.
    pub parameter: String,
    /// Cookie name.
    pub cookie_name: String,
    /// Algorithm of a signing key.
    pub algorithm: String,
    /// Sidecar address.
    pub api_base: String,
    /// What is wrong.
    pub problems: Problems,
}

impl CredentialForm {
    /// The header rows and at least one empty one, two rows at the least.
    fn header_rows(&self) -> Vec<(&str, &str)> {
        let typed = self.headers.iter().map(|(name, format)| (name.as_str(), format.as_str()));
        let blank = if self.headers.is_empty() { 2 } else { 1 };
        typed.chain(std::iter::repeat_n(("", ""), blank)).collect()
    }
}

/// `GET /app/new/credential?kind=…`; posts to `/app/credentials` with `kind` too.
#[derive(Clone, Debug, Template)]
#[template(path = "credential_new.html")]
pub struct NewCredentialPage {
    /// The frame.
    pub shell: Shell,
    /// The chosen kind.
    pub kind: Kind,
    /// The form.
    pub form: CredentialForm,
}

/// `GET /app/credentials/{name}`. Posts to `/edit` (`description`, `allowed_hosts`, `allow_http`, and
/// the configuration fields of the kind), `/secret` (the secret fields of the kind), `/verify` (`url`,
/// may be empty), `/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "credential.html")]
pub struct CredentialPage {
    /// The frame.
    pub shell: Shell,
    /// The credential.
    pub credential: CredentialLine,
    /// Its kind.
    pub kind: Kind,
    /// Version of the secret, from 1.
    pub version: u64,
    /// When it was added.
    pub created: When,
    /// When the secret was last replaced.
    pub secret_replaced: When,
    /// Agents that may use it, in words: `all agents`, `checkout-bot`.
    pub agents: String,
    /// The form.
    pub form: CredentialForm,
    /// What the last probe found.
    pub verified: Option<Verified>,
}

/// What a probe found.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Whether the API took the credential.
    pub good: bool,
    /// `200 from api.example.com in 84 ms`, `could not reach api.example.com`.
    pub text: String,
}

in_section!(
    CredentialsPage => Credentials,
    NewCredentialPage => Credentials,
    CredentialPage => Credentials,
);
