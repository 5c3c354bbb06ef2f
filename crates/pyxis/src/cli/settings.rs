//! `pyxis config`.

use clap::Subcommand;

/// `pyxis config …`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the effective settings and their sources; secrets only as set or not set.
    Show,
    /// Check the settings as a start does, and name every problem. Exit 1 if there is one.
    Check,
}
