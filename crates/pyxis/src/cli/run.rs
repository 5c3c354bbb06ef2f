//! Options of `pyxis run`, of `pyxis proxy` and of the login that they use.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::config::Flags;

/// Server and agent key of a command that acts for an agent.
#[derive(Debug, Args)]
pub struct AccessOptions {
    /// URL of the server [default: `PX_URL`, or else that of `pyxis login`, or else the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that holds the agent key; with `_FILE` appended, it may name a file. Without either, the key
    /// of `pyxis login` is used.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub agent_key_env: String,
}

impl AccessOptions {
    /// Variables that hold the agent key, or the path of a file with it.
    pub fn key_variables(&self) -> [String; 2] {
        [self.agent_key_env.clone(), format!("{}_FILE", self.agent_key_env)]
    }
}

/// Options of `pyxis run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub access: AccessOptions,
    /// Agent to act as, with a token made for this run instead of its key.
    #[arg(long, value_name = "NAME", conflicts_with = "agent_key_env")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub hosts: HostOptions,
    /// Reason that approvers read, for requests that bring none in `X-PX-Reason`.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Command to run, and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Options about the hosts that requests go to.
#[derive(Debug, Args)]
pub struct HostOptions {
    /// Credential of a host that several credentials allow; repeat for several.
    #[arg(long = "use", value_name = "HOST=CREDENTIAL")]
    pub choices: Vec<String>,
    /// Handling of hosts that no credential allows.
    #[arg(long, value_enum, default_value = "tunnel")]
    pub others: Others,
}

/// Options of `pyxis proxy`.
#[derive(Debug, Args)]
pub struct ProxyOptions {
    /// Address and port to listen on [default: 127.0.0.1:8702].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Host and port by which clients reach the proxy [default: the address it listens on].
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<String>,
    /// Directory, shared with clients, to write env.sh and the certificates to.
    #[arg(long, value_name = "DIR")]
    client_dir: Option<String>,
    #[command(flatten)]
    pub access: AccessOptions,
    #[command(flatten)]
    pub hosts: HostOptions,
}

impl ProxyOptions {
    /// Adds the options that are settings.
    pub fn add_to(&self, flags: &mut Flags) {
        for (key, value) in [
            ("proxy_listen", &self.listen),
            ("proxy_address", &self.address),
            ("proxy_client_dir", &self.client_dir),
        ] {
            if let Some(value) = value {
                flags.insert(key, value.clone());
            }
        }
    }
}

/// Handling of hosts that no credential allows.
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
