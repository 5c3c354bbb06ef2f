//! Commands for webhooks.

use clap::Subcommand;

use super::confirmation::Confirmation;

/// `pyxis webhook …`
#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Add an endpoint and print its signing secret, once.
    #[command(alias = "create")]
    Add {
        /// URL for deliveries: https with a public host.
        #[arg(long)]
        url: String,
        /// Event to deliver; repeat for several [default: the three approval events].
        #[arg(long = "event", value_name = "EVENT")]
        events: Vec<String>,
        /// Description.
        #[arg(long, default_value = "")]
        description: String,
    },
    /// List endpoints, never their secrets.
    List,
    /// Enable a disabled endpoint.
    Enable {
        /// Endpoint id.
        id: String,
    },
    /// Disable an endpoint.
    Disable {
        /// Endpoint id.
        id: String,
    },
    /// Remove an endpoint and its deliveries.
    #[command(alias = "delete")]
    Remove {
        /// Endpoint id.
        id: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Replace an endpoint's signing secret and print the new one, once; both sign for 24 hours.
    RotateSecret {
        /// Endpoint id.
        id: String,
    },
    /// List deliveries, newest first.
    Deliveries {
        /// Endpoint id, to list only its deliveries.
        #[arg(long, value_name = "ID")]
        webhook: Option<String>,
        /// Status of deliveries to list: pending, delivered or failed [default: all].
        #[arg(long)]
        status: Option<String>,
        /// Maximum number of deliveries.
        #[arg(short = 'n', long, default_value_t = 50)]
        limit: u32,
    },
    /// Send a stored delivery again: same body, new signature.
    Resend {
        /// Delivery id.
        id: String,
    },
}
