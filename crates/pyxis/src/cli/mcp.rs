//! Options of the commands that connect agents.

use clap::Args;

/// Options of `pyxis mcp`.
#[derive(Debug, Args)]
pub struct McpBridge {
    /// URL of the server [default: the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that holds the agent key.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub agent_key_env: String,
}

/// Options of `pyxis connect`.
#[derive(Debug, Args)]
pub struct Connect {
    /// Program, such as claude-code or codex.
    pub client: Option<String>,
    /// URL of the server [default: the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that will hold the agent key.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub key_env: String,
}
