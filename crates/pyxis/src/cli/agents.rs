//! `pyxis agent`.

use clap::{ArgGroup, Subcommand};

use super::confirmation::Confirmation;
use super::names::{AgentLabel, NameArgument};

/// `pyxis agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Add an agent and print its key, once.
    #[command(alias = "create")]
    Add {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
        /// Requests per hour [default: no limit].
        #[arg(long)]
        rate_limit_per_hour: Option<u32>,
        /// Maximum pending requests, 1 to 100000 [default: 100].
        #[arg(long)]
        max_pending: Option<u32>,
        /// Credential that the agent may use; repeat for several [default: all].
        #[arg(long = "credential", value_name = "NAME")]
        credentials: Vec<String>,
    },
    /// Change an agent's limits; omitted options keep their values.
    Limit {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
        /// Requests per hour; 0 removes the limit.
        #[arg(long)]
        rate_limit_per_hour: Option<u32>,
        /// Maximum pending requests, 1 to 100000.
        #[arg(long)]
        max_pending: Option<u32>,
    },
    /// Replace the list of credentials that an agent may use. Its tasks that need another credential stop.
    #[command(group = ArgGroup::new("scope").required(true))]
    SetCredentials {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
        /// Credential that the agent may use; repeat for several.
        #[arg(long = "credential", value_name = "NAME", group = "scope")]
        credentials: Vec<String>,
        /// All credentials, including ones added later, instead of named ones.
        #[arg(long, group = "scope")]
        all: bool,
    },
    /// List agents.
    List,
    /// Print an agent, never its key.
    Show {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
    },
    /// Enable a disabled agent.
    Enable {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
    },
    /// Disable an agent.
    Disable {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
    },
    /// Replace an agent's key and print the new one, once.
    Rotate {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
    },
    /// Remove an agent.
    #[command(alias = "delete")]
    Remove {
        #[command(flatten)]
        name: NameArgument<AgentLabel>,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}
