//! `pyxis user`.

use clap::{Subcommand, ValueEnum};

use super::names::{NameArgument, PersonLabel};

/// `pyxis user …`
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Add a person and print a sign-in link for them.
    #[command(alias = "create")]
    Add {
        #[command(flatten)]
        email: NameArgument<PersonLabel>,
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
        email: NameArgument<PersonLabel>,
    },
    /// List people.
    List,
    /// Change a person's role and end their sessions.
    Role {
        #[command(flatten)]
        email: NameArgument<PersonLabel>,
        /// Role.
        #[arg(value_enum, required_unless_present = "name_option")]
        role: Option<UserRole>,
    },
    /// Set a member's rights for a credential; without --approve and --policy, remove them.
    Grant {
        #[command(flatten)]
        email: NameArgument<PersonLabel>,
        /// Credential name.
        #[arg(required_unless_present = "name_option")]
        credential: Option<String>,
        /// Right to decide its requests.
        #[arg(long)]
        approve: bool,
        /// Right to propose changes to its policy.
        #[arg(long)]
        policy: bool,
    },
    /// Disable a person.
    Disable {
        #[command(flatten)]
        email: NameArgument<PersonLabel>,
    },
    /// Enable a disabled person.
    Enable {
        #[command(flatten)]
        email: NameArgument<PersonLabel>,
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
