//! `pyxis user`.

use clap::{Subcommand, ValueEnum};

use super::names::UserEmail;

/// `pyxis user …`
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a person and print a sign-in link for them.
    Add {
        #[command(flatten)]
        email: UserEmail,
        /// Role.
        #[arg(long, value_enum, default_value = "admin")]
        role: UserRole,
        /// Credential whose requests a member may decide; repeat for several.
        #[arg(long, value_name = "CREDENTIAL")]
        approve: Vec<String>,
        /// Credential whose policy a member may propose changes to; repeat for several.
        #[arg(long, value_name = "CREDENTIAL")]
        policy: Vec<String>,
    },
    /// Print a new sign-in link.
    Link {
        #[command(flatten)]
        email: UserEmail,
    },
    /// List people.
    List,
    /// Change a person's role and end their sessions.
    Role {
        /// E-mail address.
        email: String,
        /// Role.
        #[arg(value_enum)]
        role: UserRole,
    },
    /// Set a member's rights for a credential; without --approve and --policy, remove them.
    Grant {
        /// E-mail address.
        email: String,
        /// Credential name.
        credential: String,
        /// Right to decide its requests.
        #[arg(long)]
        approve: bool,
        /// Right to propose changes to its policy.
        #[arg(long)]
        policy: bool,
    },
    /// Disable a person.
    Disable {
        /// E-mail address.
        email: String,
    },
    /// Enable a disabled person.
    Enable {
        /// E-mail address.
        email: String,
    },
}

/// Roles that the command line gives.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum UserRole {
    /// Manages the workspace and its owners.
    Owner,
    /// Manages the workspace.
    Admin,
    /// Has rights for single credentials only.
    Member,
}
