//! Options of the commands that connect agents.

use clap::{Args, Subcommand, ValueEnum};

use super::AccessOptions;
use super::names::{AgentLabel, CredentialLabel, NameArgument, OptionalName};

/// Options of `pyxis mcp`.
#[derive(Debug, Args)]
pub struct McpBridge {
    #[command(flatten)]
    pub access: AccessOptions,
}

/// Options of `pyxis connect`.
#[derive(Debug, Args)]
pub struct Connect {
    /// Program, such as claude-code or codex.
    pub client: Option<String>,
    /// URL of the server [default: `PX_URL`, or else that of `pyxis login`, or else the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that will hold the agent key.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub key_env: String,
}

/// `pyxis connection …`
#[derive(Debug, Subcommand)]
pub enum ConnectionCommand {
    /// List programs that are connected to agents, or to one of them, newest first.
    List {
        #[command(flatten)]
        agent: OptionalName<AgentLabel>,
    },
    /// Revoke a connection; its tokens stop working immediately.
    Revoke {
        /// Connection id.
        id: String,
    },
}

/// `pyxis mcp-tool …`
#[derive(Debug, Subcommand)]
pub enum McpToolCommand {
    /// List the tools of a credential's MCP server, as it last described them.
    List {
        #[command(flatten)]
        credential: NameArgument<CredentialLabel>,
    },
    /// Print a tool's definition, its fingerprint and what changed since it was allowed.
    Show {
        /// Credential name.
        credential: String,
        /// Tool name on its server.
        tool: String,
    },
    /// Ask the server for its tools, and list them.
    Refresh {
        #[command(flatten)]
        credential: NameArgument<CredentialLabel>,
    },
    /// Set the permission of a tool. Exit 3 if it is set already.
    Set {
        /// Credential name.
        credential: String,
        /// Tool name on its server.
        tool: String,
        /// Permission.
        #[arg(value_enum)]
        permission: ToolPermission,
        /// Fingerprint of the definition that was read, or at least its first 12 characters; needed for `pass`.
        #[arg(long, value_name = "HEX")]
        fingerprint: Option<String>,
    },
}

/// Permission of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolPermission {
    /// Calls are sent immediately, as long as the definition stays the same.
    Pass,
    /// A person approves every call.
    Ask,
    /// Calls are refused, and the tool is not listed.
    Deny,
}
