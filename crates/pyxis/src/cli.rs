//! The command line. `pyxis --help` is the manual.

mod delivery;
mod models;
mod scoring;
mod verification;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::auth::CredentialKind;

use crate::config::Flags;

pub use delivery::WebhookCommand;
pub use models::{ActivityCommand, Add, Evaluate, FeaturesOf, ModelsCommand, Score, Train};
pub use scoring::{
    AddApiKey, ApiKeyCommand, Import, IssuerCommand, ManageStamps, ScorerCommand, StampsCommand,
};
pub use verification::{
    AttestationKeysCommand, CheckCommand, Kinds, NetworkCommand, ProofIssuerCommand, ProofsCommand, What,
};

/// Is this address one real human, and did a human approve what this agent is about to do?
#[derive(Debug, Parser)]
#[command(name = "pyxis", version, propagate_version = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Print data as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Read settings from this file instead of ./pyxis.toml.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<String>,
    /// Directory of the database and the generated master key.
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// sqlite:PATH, postgres://…, or the path of a SQLite file.
    #[arg(long, global = true, value_name = "URL")]
    database: Option<String>,
    /// Source of the master key: <file:PATH> or env:NAME. Never the key itself.
    #[arg(long, global = true, value_name = "SOURCE")]
    encryption_key: Option<String>,
    /// Log filter, for example debug.
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// Name of the workspace to work on; default: the first.
    #[arg(long, global = true, value_name = "NAME")]
    pub workspace: Option<String>,
}

impl Global {
    /// The options as settings.
    pub fn flags(&self) -> Flags {
        let database = self
            .database
            .as_ref()
            .map(|text| if text.contains(':') { text.clone() } else { format!("sqlite:{text}") });
        let mut flags = Flags::new();
        for (key, value) in [
            ("config", &self.config),
            ("data_dir", &self.data_dir),
            ("database_url", &database),
            ("encryption_key", &self.encryption_key),
            ("log", &self.log),
        ] {
            if let Some(value) = value {
                flags.insert(key, value.clone());
            }
        }
        flags
    }
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Go from nothing to a running server with something to try. Safe to run again.
    Quickstart {
        #[command(flatten)]
        listen: Serving,
        /// Add a demo upstream, a demo credential and curl lines to paste.
        #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
        demo: bool,
    },
    /// Run the server.
    Serve {
        #[command(flatten)]
        listen: Serving,
    },
    /// Run the OAuth 1.0a signing sidecar, with credentials from `OAUTH_CRED_*` variables.
    Signer {
        /// Address to listen on; without a port, it is that of `OAUTH_SIGNER_PORT`, 8080 by default.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
        listen: String,
    },
    /// Create the first workspace, owner and keys, without a server. Exit 3 if they already exist.
    Bootstrap {
        /// The owner's e-mail address.
        #[arg(long, default_value = "owner@localhost")]
        owner_email: String,
    },
    /// Bring the database's schema up to date.
    Migrate,
    /// Check every part and say how to fix what is wrong.
    Doctor,
    /// Write a backup of the running database to a new file.
    Backup {
        /// The file to write.
        file: PathBuf,
    },
    /// Restore a backup into an empty database.
    Restore {
        /// The file to read.
        file: PathBuf,
    },
    /// The master key.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Workspaces of this installation.
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// People.
    #[command(subcommand)]
    User(UserCommand),
    /// Agents and their keys.
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Stored credentials.
    #[command(subcommand)]
    Credential(CredentialCommand),
    /// Policies of credentials.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Grants.
    #[command(subcommand)]
    Grant(GrantCommand),
    /// Webhook endpoints and their deliveries.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Scorers: weights and thresholds.
    #[command(subcommand)]
    Scorer(ScorerCommand),
    /// API keys of the scoring surface.
    #[command(subcommand)]
    ApiKey(ApiKeyCommand),
    /// Stamps of an address.
    #[command(subcommand)]
    Stamps(StampsCommand),
    /// Activity of wallets, from which models score.
    #[command(subcommand)]
    Activity(ActivityCommand),
    /// Models that score wallets by their activity.
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Trusted issuers of credentials.
    #[command(subcommand)]
    Issuer(IssuerCommand),
    /// Proofs of unique humans: the registry, its issuers and blocked addresses.
    #[command(subcommand)]
    Proofs(ProofsCommand),
    /// Networks of the verification checks.
    #[command(subcommand)]
    Network(NetworkCommand),
    /// Checks of an address.
    #[command(subcommand)]
    Check(CheckCommand),
    /// The audit trail.
    #[command(subcommand)]
    Audit(AuditCommand),
}

/// Addresses to listen on and surfaces to serve.
#[derive(Debug, Args)]
pub struct Serving {
    /// Address and port; port 0 picks a free one.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Address and port of the Prometheus metrics; port 0 picks a free one, `off` disables them.
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<String>,
    /// Surfaces to serve: scoring,verification,proxy,dashboard.
    #[arg(long, value_name = "LIST")]
    surfaces: Option<String>,
}

impl Serving {
    /// Adds these options to the settings.
    pub fn add_to(&self, flags: &mut Flags) {
        for (key, value) in
            [("listen", &self.listen), ("metrics_listen", &self.metrics_listen), ("surfaces", &self.surfaces)]
        {
            if let Some(value) = value {
                flags.insert(key, value.clone());
            }
        }
    }
}

/// `pyxis key …`
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Print a new master key.
    Generate,
    /// Wrap the data keys with a new master key; a running server keeps working.
    Rotate {
        /// The new key: <file:PATH> or env:NAME. Default: a new key replaces master.key.
        #[arg(long, value_name = "SOURCE")]
        new_key: Option<String>,
    },
}

/// `pyxis workspace …`
#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// Add a workspace; it starts with the agent key default-agent.
    Add {
        /// Its name.
        name: String,
        /// Decision about requests without a policy.
        #[arg(long, value_enum, default_value = "gated")]
        mode: Mode,
        /// E-mail address of its first owner.
        #[arg(long)]
        owner_email: Option<String>,
    },
    /// List workspaces.
    List,
}

/// Approval mode.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Mode {
    /// GET and HEAD pass, everything else needs approval.
    Gated,
    /// Everything passes.
    Autonomous,
}

/// `pyxis user …`
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a person and print their sign-in link.
    Add {
        /// E-mail address.
        #[arg(long)]
        email: String,
        /// Role.
        #[arg(long, value_enum, default_value = "admin")]
        role: UserRole,
        /// A credential whose requests a member may decide; may be repeated.
        #[arg(long, value_name = "CREDENTIAL")]
        approve: Vec<String>,
        /// A credential whose policy a member may propose changes to; may be repeated.
        #[arg(long, value_name = "CREDENTIAL")]
        policy: Vec<String>,
    },
    /// Print a new sign-in link.
    Link {
        /// E-mail address.
        email: String,
    },
    /// List people.
    List,
    /// Give a person another role, which ends their sessions.
    Role {
        /// E-mail address.
        email: String,
        /// Role.
        #[arg(value_enum)]
        role: UserRole,
    },
    /// Set a member's rights for a credential; without --approve and --policy: none.
    Grant {
        /// E-mail address.
        email: String,
        /// The credential.
        credential: String,
        /// Let them decide its requests.
        #[arg(long)]
        approve: bool,
        /// Let them propose changes to its policy.
        #[arg(long)]
        policy: bool,
    },
    /// Disable a person.
    Disable {
        /// E-mail address.
        email: String,
    },
    /// Enable a disabled person.
    Enable {
        /// E-mail address.
        email: String,
    },
}

/// Roles that the command line gives.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum UserRole {
    /// Can also change owners.
    Owner,
    /// Manages the workspace.
    Admin,
    /// Decides what was granted, credential by credential.
    Member,
}

/// `pyxis agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Add an agent and print its key, once.
    Add {
        /// Its name.
        name: String,
        /// Requests per hour; without it there is no limit.
        #[arg(long)]
        rate_limit_per_hour: Option<u32>,
        /// Requests that may wait for approval at once, 1 to 100000 [default: 100].
        #[arg(long)]
        max_pending: Option<u32>,
        /// A credential that the agent may use; repeat for several. Without it: all.
        #[arg(long = "credential", value_name = "NAME")]
        credentials: Vec<String>,
    },
    /// Change an agent's limits; omitted ones stay.
    Limit {
        /// Its name.
        name: String,
        /// Requests per hour; 0 removes the limit.
        #[arg(long)]
        rate_limit_per_hour: Option<u32>,
        /// Requests that may wait for approval at once, 1 to 100000.
        #[arg(long)]
        max_pending: Option<u32>,
    },
    /// List agents.
    List,
    /// Enable a disabled agent.
    Enable {
        /// Its name.
        name: String,
    },
    /// Disable an agent.
    Disable {
        /// Its name.
        name: String,
    },
    /// Replace its key and print the new one, once.
    Rotate {
        /// Its name.
        name: String,
    },
    /// Remove an agent.
    Remove {
        /// Its name.
        name: String,
    },
}

/// `pyxis credential …`
#[derive(Debug, Subcommand)]
pub enum CredentialCommand {
    /// Store a credential.
    Add(AddCredential),
    /// List credentials, never their secrets.
    List,
    /// List presets: common APIs with their hosts and kinds.
    Presets {
        /// Words to find in the name or the hosts.
        search: Vec<String>,
    },
    /// Store a credential for each preset whose variables are in a .env file.
    ImportEnv {
        /// The file; - reads standard input.
        file: PathBuf,
    },
    /// Generate or import a key that signs payloads (`POST /sign`); it never leaves Pyxis.
    GenerateKey(GenerateKey),
    /// Replace the secret; its version increases and its grants end.
    SetSecret {
        /// Its name.
        name: String,
        #[command(flatten)]
        secret: SecretSource,
    },
    /// Remove a credential.
    Remove {
        /// Its name.
        name: String,
    },
    /// Send one GET with the credential and print the status.
    Verify {
        /// Its name.
        name: String,
        /// The URL to try; default: the preset's URL for its kind and hosts, otherwise the root of its first host.
        #[arg(long)]
        url: Option<String>,
    },
}

/// `pyxis credential generate-key`
#[derive(Debug, Args)]
pub struct GenerateKey {
    /// Its name.
    #[arg(long)]
    pub name: String,
    /// Signature algorithm.
    #[arg(long, value_enum)]
    pub algorithm: SigningAlgorithm,
    /// Description for people.
    #[arg(long, default_value = "")]
    pub description: String,
    /// Import the key (32 bytes as hexadecimal digits) from this file instead of making one.
    #[arg(long, value_name = "FILE", conflicts_with = "import_env")]
    pub import_file: Option<PathBuf>,
    /// Import it from this environment variable.
    #[arg(long, value_name = "NAME")]
    pub import_env: Option<String>,
}

/// Algorithms of signing keys.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SigningAlgorithm {
    /// RFC 8032.
    Ed25519,
    /// The curve of Bitcoin and Ethereum.
    #[value(name = "secp256k1")]
    Secp256k1,
    /// The NIST curve.
    #[value(name = "p256")]
    P256,
}

/// `pyxis credential add`
#[derive(Debug, Args)]
pub struct AddCredential {
    /// Its name.
    #[arg(long)]
    pub name: String,
    /// Description for people.
    #[arg(long, default_value = "")]
    pub description: String,
    /// Kind of the credential: the way to attach its secret.
    #[arg(long, value_name = "KIND", value_parser = kinds(), required_unless_present_any = ["auth_json", "preset"])]
    pub auth: Option<&'static CredentialKind>,
    /// Way to attach it, as the JSON of the admin API, for example `{"kind":"mtls"}`. Supports every kind.
    #[arg(long, value_name = "JSON", conflicts_with = "auth")]
    pub auth_json: Option<String>,
    /// Use hosts and kind of the preset with this name; see `pyxis credential presets`.
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["auth", "auth_json"])]
    pub preset: Option<String>,
    /// Setting of the kind, for example `app_id=12`, never a secret; repeat for several.
    #[arg(long = "set", value_name = "FIELD=VALUE", conflicts_with = "auth_json")]
    pub set: Vec<String>,
    /// Header name (header, hmac), parameter (query) or cookie name (cookie).
    #[arg(long, value_name = "NAME")]
    pub auth_name: Option<String>,
    /// Format of the header, with {secret} in it; {signature} for hmac.
    #[arg(long, value_name = "FORMAT")]
    pub auth_format: Option<String>,
    /// The sidecar's address; with --auth oauth1. Without it, requests are signed here.
    #[arg(long, value_name = "URL")]
    pub api_base: Option<String>,
    /// A host that targets may name; repeat for several.
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_hosts: Vec<String>,
    /// Allow plain http targets.
    #[arg(long)]
    pub allow_http: bool,
    #[command(flatten)]
    pub secret: SecretSource,
}

/// Source of a secret; without any of these options, it is prompted for.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct SecretSource {
    /// Read the secret from this file.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// Read the secret from this environment variable.
    #[arg(long, value_name = "NAME")]
    pub secret_env: Option<String>,
}

/// Names of the kinds that are attached to requests.
fn kinds() -> impl TypedValueParser<Value = &'static CredentialKind> {
    let names = CredentialKind::attached().map(|kind| PossibleValue::new(kind.name).help(kind.explanation));
    PossibleValuesParser::new(names)
        .map(|name| CredentialKind::from_name(&name).unwrap_or(CredentialKind::USUAL))
}

/// `pyxis policy …`
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Replace a credential's policy with a JSON document.
    Set {
        /// The credential.
        credential: String,
        /// The document; - reads standard input.
        file: PathBuf,
    },
    /// Print a credential's policy.
    Show {
        /// The credential.
        credential: String,
    },
    /// Explain the decision about a request.
    Explain {
        /// The credential.
        credential: String,
        /// HTTP method.
        method: String,
        /// Full URL.
        url: String,
        /// Count this agent's own grants.
        #[arg(long)]
        agent: Option<String>,
    },
}

/// `pyxis grant …`
#[derive(Debug, Subcommand)]
pub enum GrantCommand {
    /// List grants.
    List {
        /// Also list grants that have ended.
        #[arg(long)]
        ended: bool,
    },
    /// End a grant now.
    Revoke {
        /// Its id.
        id: String,
    },
}

/// `pyxis audit …`
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Check every record, the chain and the signed heads.
    Verify,
    /// Print records, oldest first.
    Export {
        /// Format.
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormat,
    },
    /// Print the newest records.
    Tail {
        /// Number of records.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: u32,
        /// Event to show, by its present or an earlier name. May be repeated.
        #[arg(long = "kind", value_name = "EVENT", value_parser = event)]
        events: Vec<AuditEvent>,
    },
}

fn event(name: &str) -> Result<AuditEvent, String> {
    AuditEvent::from_name(name)
        .ok_or_else(|| "no such event; docs/reference/audit-events.md lists them".to_owned())
}

/// Formats of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExportFormat {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values with a heading.
    Csv,
}
