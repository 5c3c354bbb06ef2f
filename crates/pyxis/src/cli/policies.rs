//! `pyxis policy` and `pyxis grant`.

use std::path::PathBuf;

use clap::Subcommand;

/// `pyxis policy …`
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Replace a credential's policy with a JSON document.
    Set {
        /// Credential name.
        credential: String,
        /// Policy document; - reads standard input.
        file: PathBuf,
    },
    /// Print a credential's policy.
    Show {
        /// Credential name.
        credential: String,
    },
    /// Explain how a request would be decided.
    Explain {
        /// Credential name.
        credential: String,
        /// HTTP method.
        method: String,
        /// Full URL.
        url: String,
        /// Agent whose own grants count too.
        #[arg(long)]
        agent: Option<String>,
        /// Body of the request, for content rules.
        #[arg(long)]
        body: Option<String>,
        /// Type of the body.
        #[arg(long, default_value = "application/json")]
        content_type: String,
    },
}

/// `pyxis grant …`
#[derive(Debug, Subcommand)]
pub enum GrantCommand {
    /// List grants.
    List {
        /// Also list ended grants.
        #[arg(long)]
        ended: bool,
    },
    /// End a grant now.
    Revoke {
        /// Grant id.
        id: String,
    },
}
