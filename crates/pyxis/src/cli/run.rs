//! Options of `pyxis run`, of `pyxis proxy` and of the login that they use.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::config::Flags;

/// Options of `pyxis run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// URL of the server [default: that of `pyxis login`, or else the base URL of this installation].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that holds the agent key; without it, the key of `pyxis login` is used.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub agent_key_env: String,
    /// Agent to act as, with a token made for this run instead of its key.
    #[arg(long, value_name = "NAME", conflicts_with = "agent_key_env")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub hosts: HostOptions,
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
    /// URL of the server [default: `PX_URL`, or else that of `pyxis login`].
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Environment variable that holds the agent key; the variable with `_FILE` appended may name a file.
    #[arg(long, value_name = "NAME", default_value = "PX_AGENT_KEY")]
    pub agent_key_env: String,
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
