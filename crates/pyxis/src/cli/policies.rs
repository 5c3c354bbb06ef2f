//! `pyxis policy` and `pyxis grant`.

use std::path::PathBuf;

use clap::Subcommand;

use super::confirmation::Confirmation;

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
    /// Edit a credential's policy as JSON in $VISUAL or $EDITOR; the change is shown before it is saved.
    Edit {
        /// Credential name.
        credential: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Check policies for approvals that no one can give and for rules without effect. Exit 1 if there are any.
    Lint {
        /// Credential name [default: every credential with a policy].
        credential: Option<String>,
        /// Policy document to check instead of the stored one; - reads standard input.
        #[arg(long, value_name = "FILE", requires = "credential")]
        file: Option<PathBuf>,
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
