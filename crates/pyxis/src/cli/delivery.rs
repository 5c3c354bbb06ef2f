//! Commands for webhooks.

use clap::Subcommand;

/// `pyxis webhook …`
#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Add an endpoint and print its signing secret, once.
    Add {
        /// URL that deliveries are posted to: https, and a public host.
        #[arg(long)]
        url: String,
        /// An event to deliver; repeat for several. Without it: the three approval events.
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
        /// Description for people.
        #[arg(long, default_value = "")]
        description: String,
    },
    /// List endpoints, never their secrets.
    List,
    /// Enable a disabled endpoint.
    Enable {
        /// Its id.
        id: String,
    },
    /// Disable an endpoint.
    Disable {
        /// Its id.
        id: String,
    },
    /// Remove an endpoint and its deliveries.
    Remove {
        /// Its id.
        id: String,
    },
    /// Replace the signing secret and print the new one, once; both sign for 24 hours.
    RotateSecret {
        /// Its id.
        id: String,
    },
    /// List deliveries, newest first.
    Deliveries {
        /// Only deliveries of this endpoint.
        #[arg(long, value_name = "ID")]
        webhook: Option<String>,
        /// Only pending, delivered or failed ones.
        #[arg(long)]
        status: Option<String>,
        /// Maximum number.
        #[arg(short = 'n', long, default_value_t = 50)]
        limit: u32,
    },
    /// Send a stored delivery again: the same bytes with a new signature.
    Resend {
        /// The delivery's id.
        id: String,
    },
}
