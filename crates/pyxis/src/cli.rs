//! The command line. `pyxis --help` is the manual.

mod agents;
mod audit;
mod confirmation;
mod credentials;
mod decisions;
mod delivery;
mod mcp;
mod models;
mod names;
mod own_stamps;
mod people;
mod policies;
mod run;
mod score_jobs;
mod scoring;
mod settings;
mod tasks;
mod verification;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::config::Flags;

pub use agents::AgentCommand;
pub use audit::{AuditCommand, ExportFormat, ReceiptKeyCommand};
pub use confirmation::Confirmation;
pub use credentials::{AddCredential, CredentialCommand, GenerateKey, SecretSource, SigningAlgorithm};
pub use decisions::{Approve, Deny, PersonOptions};
pub use delivery::WebhookCommand;
pub use mcp::{Connect, ConnectionCommand, McpBridge, McpToolCommand, ToolPermission};
pub use models::{ActivityCommand, Add, Evaluate, FeaturesOf, ModelsCommand, Score, Train};
pub use names::{
    AgentLabel, ApiKeyLabel, CredentialLabel, IssuerLabel, ModelLabel, NameArgument, NameLabel, OptionalName,
    PersonLabel, ScorerLabel, StampLabel, WorkspaceLabel, usage,
};
pub use own_stamps::{
    AddressOptions, AllowListCommand, NewOnchainStamp, OnchainStampCommand, OwnStampOptions,
};
pub use people::{UserCommand, UserRole};
pub use policies::{GrantCommand, PolicyCommand};
pub use run::{AccessOptions, HostOptions, Login, Others, ProxyOptions, RunOptions};
pub use score_jobs::{CreateJob, Download, ScoreJobCommand};
pub use scoring::{
    AddApiKey, AddressCommand, ApiKeyCommand, ApiKeyKind, Import, IssuerCommand, ManageStamps, ScoreCommand,
    ScoreKeyCommand, ScorerCommand, SignStamps, StampKeyCommand, StampsCommand,
};
pub use settings::ConfigCommand;
pub use tasks::{ApproveTask, KeptAction, TaskCommand};
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
    /// Directory of the database and the generated master key [default: ./pyxis-data].
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// Database: sqlite:PATH, postgres://… or the path of a SQLite file [default: pyxis.db in the data directory]. Other
    /// processes can read arguments: give a URL with a password in `PX_DATABASE_URL`.
    #[arg(long, global = true, value_name = "URL")]
    database: Option<String>,
    /// Source of the master key: `file:PATH` or `env:NAME`. Never the key itself.
    #[arg(long, global = true, value_name = "SOURCE")]
    encryption_key: Option<String>,
    /// Log filter, for example info or debug.
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// Workspace to work on [default: the first].
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
    /// Set up and run a server with sample data to try. Safe to run again.
    Quickstart {
        #[command(flatten)]
        listen: Serving,
        /// Add a demo upstream, a demo credential and curl commands to paste.
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
        /// Address to listen on; without a port, the port is `OAUTH_SIGNER_PORT`, or 8080.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
        listen: String,
    },
    /// Create the first workspace, owner and keys without starting a server. Exit 3 if they already exist.
    Bootstrap {
        /// Owner's e-mail address; with --reissue, of the owner who gets a new link [default: owner@localhost].
        #[arg(long)]
        owner_email: Option<String>,
        /// Replace keys that were never used, for a bootstrap that was killed before it printed them.
        #[arg(long)]
        reissue: bool,
    },
    /// Migrate the database schema to this version. Exit 3 if it is current.
    Migrate,
    /// Print the state of the running server: readiness, version, pending requests, last backup. Exit 1 if not ready.
    Status(PersonOptions),
    /// Show and check the settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check the installation and print how to fix each problem.
    Doctor,
    /// Check within 3 seconds whether a server or `pyxis proxy` is ready. Exit 1 if not.
    Healthcheck {
        /// Base URL to ask [default: the address that `serve` listens on, or that of `pyxis proxy` with --proxy].
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Ask `pyxis proxy` instead of a server.
        #[arg(long)]
        proxy: bool,
    },
    /// Write a backup of the running database to a new file.
    Backup {
        /// File to write; it must not exist.
        file: PathBuf,
        /// Do not check the audit trail: for a trail that is known to be damaged, or without the master key.
        #[arg(long)]
        without_audit_check: bool,
    },
    /// Restore a backup into an empty database.
    Restore {
        /// Backup file to read.
        file: PathBuf,
    },
    /// Generate or replace the master key.
    #[command(subcommand, alias = "keys")]
    Key(KeyCommand),
    /// Manage workspaces.
    #[command(subcommand, alias = "workspaces")]
    Workspace(WorkspaceCommand),
    /// Manage people, their roles and their rights.
    #[command(subcommand, alias = "users")]
    User(UserCommand),
    /// Manage agents and their keys.
    #[command(subcommand, alias = "agents")]
    Agent(AgentCommand),
    /// Bridge standard input and output to the MCP server of a running Pyxis, for programs that speak only stdio.
    Mcp(McpBridge),
    /// Print the configuration that connects an agent's program to the MCP server; without a name, list the programs.
    Connect(Connect),
    /// List and revoke programs that are connected to agents.
    #[command(subcommand, alias = "connections")]
    Connection(ConnectionCommand),
    /// Run a command through Pyxis, which attaches secrets for stored hosts.
    Run(RunOptions),
    /// Serve the proxy of `pyxis run` to programs that it does not start, such as an agent in a container next to it.
    Proxy(ProxyOptions),
    /// Save a server with an agent key, for `pyxis run` and `pyxis proxy`, or with your access token, for `pyxis inbox`.
    Login(Login),
    /// Remove the saved login. Exit 3 if there is none.
    Logout,
    /// List requests and tasks waiting for approval.
    Inbox(PersonOptions),
    /// Show a request waiting for approval, and approve it.
    Approve(Approve),
    /// Deny a request waiting for approval.
    Deny(Deny),
    /// List, show, approve, deny and stop tasks that agents propose.
    #[command(subcommand, alias = "tasks")]
    Task(TaskCommand),
    /// Manage stored credentials.
    #[command(subcommand, alias = "credentials")]
    Credential(CredentialCommand),
    /// List the tools of MCP servers and set their permissions.
    #[command(subcommand, alias = "mcp-tools")]
    McpTool(McpToolCommand),
    /// Set, list, print and explain policies.
    #[command(subcommand, alias = "policies")]
    Policy(PolicyCommand),
    /// List and end grants.
    #[command(subcommand, alias = "grants")]
    Grant(GrantCommand),
    /// Manage webhook endpoints and their deliveries.
    #[command(subcommand, alias = "webhooks")]
    Webhook(WebhookCommand),
    /// Manage scorers: weights and thresholds.
    #[command(subcommand, alias = "scorers")]
    Scorer(ScorerCommand),
    /// Export scores for contracts: Merkle lists and EAS attestations.
    #[command(subcommand, alias = "scores")]
    Score(ScoreCommand),
    /// Score many addresses as a job.
    #[command(subcommand, visible_alias = "score-jobs")]
    ScoreJob(ScoreJobCommand),
    /// List and rotate the keys that sign scores.
    #[command(subcommand, alias = "score-keys")]
    ScoreKey(ScoreKeyCommand),
    /// Manage API keys for scoring.
    #[command(subcommand, alias = "api-keys")]
    ApiKey(ApiKeyCommand),
    /// Sign, import, explain and revoke Stamps.
    #[command(subcommand, visible_alias = "stamp")]
    Stamps(StampsCommand),
    /// Manage allow lists: lists of addresses as a Stamp.
    #[command(subcommand, alias = "allow-lists")]
    AllowList(AllowListCommand),
    /// Manage on-chain Stamps: conditions on a chain as a Stamp.
    #[command(subcommand, alias = "onchain-stamps")]
    OnchainStamp(OnchainStampCommand),
    /// List and rotate the keys that sign the workspace's own Stamps.
    #[command(subcommand, alias = "stamp-keys")]
    StampKey(StampKeyCommand),
    /// Erase addresses on request, and show the receipts.
    #[command(subcommand, alias = "addresses")]
    Address(AddressCommand),
    /// Import the wallet activity that models score.
    #[command(subcommand)]
    Activity(ActivityCommand),
    /// Train, inspect and run models that score wallets by their activity.
    #[command(subcommand, visible_alias = "model")]
    Models(ModelsCommand),
    /// Manage trusted issuers of verifiable credentials.
    #[command(subcommand, alias = "issuers")]
    Issuer(IssuerCommand),
    /// Manage proofs, their issuers and blocked addresses.
    #[command(subcommand, visible_alias = "proof")]
    Proofs(ProofsCommand),
    /// List networks of the verification checks.
    #[command(subcommand, alias = "networks")]
    Network(NetworkCommand),
    /// Check an address.
    #[command(subcommand, alias = "checks")]
    Check(CheckCommand),
    /// Verify and print the audit trail, and issue and verify receipts.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// List, rotate and export the keys that sign receipts.
    #[command(subcommand, alias = "receipt-keys")]
    ReceiptKey(ReceiptKeyCommand),
    /// Print a script that completes commands and options in a shell.
    Completions {
        /// Shell that reads the script.
        shell: Shell,
    },
    /// Write a man page for each command to an existing directory.
    Man {
        /// Existing directory.
        directory: PathBuf,
    },
}

/// Addresses to listen on and surfaces to serve.
#[derive(Debug, Args)]
pub struct Serving {
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:8700].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Address and port for Prometheus metrics; port 0 picks a free one, `off` disables them [default: 127.0.0.1:8701 if free].
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<String>,
    /// Surfaces to serve, comma-separated: scoring, verification, proxy, dashboard [default: all].
    #[arg(long, value_name = "LIST")]
    surfaces: Option<String>,
    /// Serve although records of the audit trail, or the whole database, are missing. The audit trail records it.
    #[arg(long)]
    pub accept_lost_database: bool,
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
    /// Generate and print a master key.
    Generate,
    /// Wrap the data keys with a new master key, or add a data key; a running server keeps working.
    Rotate {
        /// Add a data key, which seals new secrets after a minute, and keep the master key.
        #[arg(long, conflicts_with = "new_key")]
        data: bool,
        /// Source of the new key: `file:PATH` or `env:NAME` [default: generate one and replace master.key].
        #[arg(long, value_name = "SOURCE")]
        new_key: Option<String>,
    },
}

/// `pyxis workspace …`
#[derive(Debug, Subcommand)]
pub enum WorkspaceCommand {
    /// Add a workspace and its first agent, default-agent, and print the agent's key, once.
    #[command(alias = "create")]
    Add {
        #[command(flatten)]
        name: NameArgument<WorkspaceLabel>,
        /// Approval mode: the decision about requests to credentials without a policy.
        #[arg(long, value_enum, default_value = "gated")]
        mode: Mode,
        /// E-mail address of the first owner.
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
