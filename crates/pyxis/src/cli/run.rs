//! Options of `pyxis run` and of the login that it uses.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// Options of `pyxis run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// URL of the server [default: that of `pyxis login`, or else the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that holds the agent key; without it, the key of `pyxis login` is used.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub agent_key_env: String,
    /// Credential of a host that several credentials allow; repeat for several.
    #[arg(long = "use", value_name = "HOST=CREDENTIAL")]
    pub choices: Vec<String>,
    /// Treatment of hosts that no credential allows.
    #[arg(long, value_enum, default_value = "tunnel")]
    pub others: Others,
    /// Command to run, and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Treatment of hosts that no credential allows.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Others {
    /// Connect to them and pass everything on unread.
    Tunnel,
    /// Refuse them.
    Refuse,
}

/// Options of `pyxis login`.
#[derive(Debug, Args)]
pub struct Login {
    /// URL of the server [default: the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}
