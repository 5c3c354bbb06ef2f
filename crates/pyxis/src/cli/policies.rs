//! `pyxis policy` and `pyxis grant`.

use std::path::PathBuf;

use clap::Subcommand;

use super::confirmation::Confirmation;
use super::names::{CredentialLabel, NameArgument, OptionalName};

/// `pyxis policy …`
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Replace a credential's policy with a JSON document.
    Set {
        #[command(flatten)]
        credential: NameArgument<CredentialLabel>,
        /// Policy document; - reads standard input.
        #[arg(required_unless_present = "name_option")]
        file: Option<PathBuf>,
    },
    /// Edit a credential's policy as JSON in $VISUAL or $EDITOR; the change is shown before it is saved.
    Edit {
        #[command(flatten)]
        credential: NameArgument<CredentialLabel>,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Check one policy, or all of them, for approvals that no one can give and rules without effect. Exit 1 if there
    /// are any.
    Lint {
        #[command(flatten)]
        credential: OptionalName<CredentialLabel>,
        /// Policy document to check instead of the stored one; - reads standard input.
        #[arg(long, value_name = "FILE", requires = "name_group")]
        file: Option<PathBuf>,
    },
    /// List policies.
    List,
    /// Print a credential's policy.
    Show {
        #[command(flatten)]
        credential: NameArgument<CredentialLabel>,
    },
    /// Explain how a request would be decided.
    Explain {
        #[command(flatten)]
        credential: NameArgument<CredentialLabel>,
        /// HTTP method.
        #[arg(required_unless_present = "name_option")]
        method: Option<String>,
        /// Full URL.
        #[arg(required_unless_present = "name_option")]
        url: Option<String>,
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
