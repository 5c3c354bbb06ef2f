//! Stored credentials, which agents use and never see. No view model here ever holds a stored secret.

use std::collections::BTreeMap;

use askama::Template;

pub use pyxis_core::auth::{CredentialKind, KindField, KindGroup, KindInput};

use super::{Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/credentials`.
#[derive(Clone, Debug, Template)]
#[template(path = "credentials.html")]
pub struct CredentialsPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The credentials found, by name.
    pub credentials: Vec<CredentialLine>,
}

/// One credential in the list.
#[derive(Clone, Debug)]
pub struct CredentialLine {
    pub name: String,
    /// Description; may be empty.
    pub description: String,
    /// Auth kind: `Bearer token`, `Header X-Api-Key`, `Signing sidecar`.
    pub kind: String,
    /// Hosts that it may be sent to; empty means nowhere yet.
    pub allowed_hosts: Vec<String>,
    /// Its policy in a few words.
    pub policy: String,
    pub last_used: Option<Timestamp>,
}

/// Everything but secrets, as typed. Fields: `name`, `description`, `allowed_hosts` (one per line), `allow_http=on`,
/// and those of the [`CredentialKind`]. When the form is shown again, its secrets are empty.
#[derive(Clone, Debug, Default)]
pub struct CredentialForm {
    /// Name; cannot be changed later.
    pub name: String,
    pub description: String,
    /// One host per line.
    pub allowed_hosts: String,
    /// True if targets may use plain http.
    pub allow_http: bool,
    /// Name and format of each header; the page adds empty rows for more.
    pub headers: Vec<(String, String)>,
    /// Values of the kind's fields, by name.
    pub values: BTreeMap<&'static str, String>,
    pub problems: Problems,
}

impl CredentialForm {
    /// The header rows and at least one empty one; at least two rows.
    fn header_rows(&self) -> Vec<(&str, &str)> {
        let typed = self.headers.iter().map(|(name, format)| (name.as_str(), format.as_str()));
        let blank = if self.headers.is_empty() { 2 } else { 1 };
        typed.chain(std::iter::repeat_n(("", ""), blank)).collect()
    }

    /// The value of a field; never a secret.
    fn value(&self, field: &KindField) -> &str {
        self.values.get(field.name).filter(|_| !field.is_unkept()).map_or("", String::as_str)
    }

    /// True if the secret was rejected. No configuration field has the same name as a secret field.
    fn has_bad_secret(&self) -> bool {
        let more = CredentialKind::ALL.iter().flat_map(|kind| kind.secret_fields());
        let mut names = std::iter::once("secret").chain(more.map(|field| field.name));
        names.any(|name| self.problems.first_of(name).is_some())
    }
}

/// A policy to start with. Fields: `preset`, and `policy` (`starter` or `mode`).
#[derive(Clone, Debug)]
pub struct StarterPolicy {
    /// Id of the preset.
    pub preset: String,
    /// Name of the service.
    pub service: String,
    /// One sentence for each rule.
    pub rules: Vec<String>,
    /// What applies without it, in one sentence.
    pub mode: String,
    /// True if it is chosen.
    pub chosen: bool,
}

/// `GET /app/new/credential?kind=…`; posts to `/app/credentials` with `kind` too.
#[derive(Clone, Debug, Template)]
#[template(path = "credential_new.html")]
pub struct NewCredentialPage {
    pub shell: Layout,
    pub kind: &'static CredentialKind,
    pub form: CredentialForm,
    /// Redirect URI for the provider.
    pub redirect_uri: String,
    /// The policy to start with, if the preset has one.
    pub starter: Option<StarterPolicy>,
    /// Search text for the presets.
    pub search: String,
    /// The matching presets: id, name and hosts.
    pub presets: Vec<(String, String, String)>,
}

/// `GET /app/credentials/{name}`. Posts to `/edit` (`description`, `allowed_hosts`, `allow_http`, and the
/// configuration fields of the kind), and `/secret` (the secret fields of the kind). Also posts to `/verify`
/// (`url`, may be empty) and `/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "credential.html")]
pub struct CredentialPage {
    pub shell: Layout,
    pub credential: CredentialLine,
    pub kind: &'static CredentialKind,
    /// URL of the MCP server, for the credential of one.
    pub mcp_url: Option<String>,
    /// Version of the secret, from 1.
    pub version: u64,
    /// Time of creation.
    pub created: Timestamp,
    /// Time at which the secret was last replaced.
    pub secret_replaced: Timestamp,
    /// Agents that may use it, in words: `all agents`, `checkout-bot`.
    pub agents: String,
    pub form: CredentialForm,
    /// True if a person can connect the account behind it.
    pub connectable: bool,
    /// True if the provider ended the connection, so that someone has to connect again.
    pub disconnected: bool,
    /// Allowed hosts that cover a public suffix, each with the suffix.
    pub wide_hosts: Vec<(String, String)>,
    /// The granted scope, if it is not the requested one.
    pub granted_scope: Option<String>,
    /// Redirect URI for the provider.
    pub redirect_uri: String,
    /// Warnings about the secret.
    pub warnings: Vec<String>,
    /// Default URL of a probe; may be empty.
    pub probe: String,
    /// Result of the last probe.
    pub verified: Option<ProbeResult>,
}

#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// True if the API accepted the credential.
    pub good: bool,
    /// `200 from api.example.com in 84 ms`, `could not reach api.example.com`.
    pub text: String,
}

/// `GET` and `POST /app/import/credentials`. Field: `env`, which is never shown again.
#[derive(Clone, Debug, Template)]
#[template(path = "credentials_import.html")]
pub struct ImportPage {
    pub shell: Layout,
    /// Result for each line of the last file.
    pub lines: Option<Vec<ImportedLine>>,
    pub problems: Problems,
}

/// Result for one line.
#[derive(Clone, Debug)]
pub struct ImportedLine {
    /// Line number.
    pub number: usize,
    /// The variable; empty if there is none.
    pub variable: String,
    /// The credential; empty if there is none.
    pub credential: String,
    /// Result in a few words.
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
