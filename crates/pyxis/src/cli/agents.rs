//! `pyxis agent`.

use clap::Subcommand;

use super::confirmation::Confirmation;

/// `pyxis agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Add an agent and print its key, once.
    Add {
        /// Agent name.
        name: String,
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
        /// Agent name.
        name: String,
        /// Requests per hour; 0 removes the limit.
        #[arg(long)]
        rate_limit_per_hour: Option<u32>,
        /// Maximum pending requests, 1 to 100000.
        #[arg(long)]
        max_pending: Option<u32>,
    },
    /// List agents.
    List,
    /// Print an agent, never its key.
    Show {
        /// Agent name.
        name: String,
    },
    /// Enable a disabled agent.
    Enable {
        /// Agent name.
        name: String,
    },
    /// Disable an agent.
    Disable {
        /// Agent name.
        name: String,
    },
    /// Replace an agent's key and print the new one, once.
    Rotate {
        /// Agent name.
        name: String,
    },
    /// Remove an agent.
    Remove {
        /// Agent name.
        name: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}
