//! The option that answers a question before it is asked.

use clap::Args;

/// Consent in advance, for scripts.
#[derive(Clone, Copy, Debug, Args)]
pub struct Confirmation {
    /// Do not ask for confirmation.
    #[arg(long)]
    pub yes: bool,
}
