//! Credentials: what agents may use and never see. No view model here ever holds a stored secret.

use std::collections::BTreeMap;

use askama::Template;

pub use super::credential_kinds::{CredentialKind, Input, KindField};
use super::{Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/credentials`.
#[derive(Clone, Debug, Template)]
#[template(path = "credentials.html")]
pub struct CredentialsPage {
    /// The frame.
    pub shell: Layout,
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
    pub last_used: Option<Timestamp>,
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
    /// True if targets may be plain http.
    pub allow_http: bool,
    /// Name and format of each header; the page adds empty rows for more.
    pub headers: Vec<(String, String)>,
    /// Name of the query parameter.
    pub parameter: String,
    /// Cookie name.
    pub cookie_name: String,
    /// Values of the fields that [`Kind::fields`] and [`Kind::secret_fields`] describe.
    pub values: BTreeMap<&'static str, String>,
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

    /// The value of a field; never one of a secret.
    fn value(&self, field: &KindField) -> &str {
        self.values.get(field.name).filter(|_| !field.is_secret()).map_or("", String::as_str)
    }

    /// True if the secret was not taken. No field of a configuration is called as one of a secret.
    fn has_bad_secret(&self) -> bool {
        let more =
            CredentialKind::GROUPS.iter().flat_map(|(_, kinds)| *kinds).flat_map(|kind| kind.secret_fields());
        let mut names = ["secret", "username", "password"].into_iter().chain(more.map(|field| field.name));
        names.any(|name| self.problems.of(name).is_some())
    }
}

/// `GET /app/new/credential?kind=…`; posts to `/app/credentials` with `kind` too.
#[derive(Clone, Debug, Template)]
#[template(path = "credential_new.html")]
pub struct NewCredentialPage {
    /// The frame.
    pub shell: Layout,
    /// The chosen kind.
    pub kind: CredentialKind,
    /// The form.
    pub form: CredentialForm,
    /// Where a provider sends people back to.
    pub redirect_uri: String,
    /// What is searched for among the presets.
    pub search: String,
    /// Presets that fit: id, name and hosts.
    pub presets: Vec<(String, String, String)>,
}

/// `GET /app/credentials/{name}`. Posts to `/edit` (`description`, `allowed_hosts`, `allow_http`, and
/// the configuration fields of the kind), `/secret` (the secret fields of the kind), `/verify` (`url`,
/// may be empty), `/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "credential.html")]
pub struct CredentialPage {
    /// The frame.
    pub shell: Layout,
    /// The credential.
    pub credential: CredentialLine,
    /// Its kind.
    pub kind: CredentialKind,
    /// Version of the secret, from 1.
    pub version: u64,
    /// When it was added.
    pub created: Timestamp,
    /// When the secret was last replaced.
    pub secret_replaced: Timestamp,
    /// Agents that may use it, in words: `all agents`, `checkout-bot`.
    pub agents: String,
    /// The form.
    pub form: CredentialForm,
    /// True if a person can connect the account behind it.
    pub connectable: bool,
    /// True if the provider ended the connection, so that somebody has to connect again.
    pub disconnected: bool,
    /// Allowed hosts that cover a public suffix, each with the suffix.
    pub wide_hosts: Vec<(String, String)>,
    /// The scope that was granted, where it is not the one asked for.
    pub granted_scope: Option<String>,
    /// Where a provider sends people back to.
    pub redirect_uri: String,
    /// Warnings about the secret.
    pub warnings: Vec<String>,
    /// What is tried where nobody names an address; may be empty.
    pub probe: String,
    /// What the last probe found.
    pub verified: Option<ProbeResult>,
}

/// What a probe found.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// True if the API took the credential.
    pub good: bool,
    /// `200 from api.example.com in 84 ms`, `could not reach api.example.com`.
    pub text: String,
}

/// `GET` and `POST /app/import/credentials`. Field: `env`, which is never shown again.
#[derive(Clone, Debug, Template)]
#[template(path = "credentials_import.html")]
pub struct ImportPage {
    /// The frame.
    pub shell: Layout,
    /// What became of the last file, line by line.
    pub lines: Option<Vec<ImportedLine>>,
    /// What is wrong.
    pub problems: Problems,
}

/// What became of a line.
#[derive(Clone, Debug)]
pub struct ImportedLine {
    /// Its number.
    pub number: usize,
    /// The variable; empty where there is none.
    pub variable: String,
    /// The credential of that name; empty where there is none.
    pub credential: String,
    /// How it went, in a few words.
    pub outcome: String,
    /// True if a credential was stored.
    pub stored: bool,
}

in_section!(
    ImportPage => Credentials,
    CredentialsPage => Credentials,
    NewCredentialPage => Credentials,
    CredentialPage => Credentials,
);
