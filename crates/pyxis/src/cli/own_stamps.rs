//! The commands of Stamps that a workspace issues by rules of its own.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_core::address::EvmAddress;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::StampName;

use super::confirmation::Confirmation;

/// Validity, description and weight of an own Stamp.
#[derive(Debug, Args)]
pub struct OwnStampOptions {
    /// Description of the holder, for the catalogue [default: the name].
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Days until an issued Stamp expires, 1 to 3650.
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(i64).range(1..=3650))]
    pub valid_days: i64,
    /// Number of the scorer that gives the Stamp a weight.
    #[arg(long, value_name = "ID", requires = "weight")]
    pub scorer: Option<ScorerId>,
    /// Weight in this scorer.
    #[arg(long, value_name = "WEIGHT", requires = "scorer")]
    pub weight: Option<Decimal>,
}

/// Addresses of a command.
#[derive(Debug, Args)]
pub struct AddressOptions {
    /// Addresses.
    #[arg(value_name = "ADDRESS", required_unless_present = "file")]
    pub addresses: Vec<EvmAddress>,
    /// File with one address per line, or CSV with addresses in the first column; - reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "addresses")]
    pub file: Option<PathBuf>,
}

/// `pyxis allow-list …`
#[derive(Debug, Subcommand)]
pub enum AllowListCommand {
    /// Add an empty allow list.
    Create {
        /// Name of the list and of its Stamp.
        name: StampName,
        #[command(flatten)]
        options: OwnStampOptions,
    },
    /// List allow lists.
    List,
    /// Print an allow list.
    Show {
        /// Name of the list.
        name: StampName,
        /// Print its addresses instead, one per line.
        #[arg(long)]
        addresses: bool,
    },
    /// Add addresses to a list. Exit 3 if all of them are on it.
    Add {
        /// Name of the list.
        name: StampName,
        #[command(flatten)]
        addresses: AddressOptions,
    },
    /// Remove addresses from a list and withdraw their Stamps. Exit 3 if none of them is on it.
    Remove {
        /// Name of the list.
        name: StampName,
        #[command(flatten)]
        addresses: AddressOptions,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Delete a list and withdraw its Stamps.
    Delete {
        /// Name of the list.
        name: StampName,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// `pyxis onchain-stamp …`
#[derive(Debug, Subcommand)]
pub enum OnchainStampCommand {
    /// Add a condition on a chain as a Stamp.
    Add {
        /// Name of the Stamp.
        name: StampName,
        /// Kind of condition, as `onchain-stamp kinds` lists them.
        kind: String,
        /// Settings of the kind, for example `contract=0x… at_least=1`.
        #[arg(value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
        /// Name of a network with nodes, as `network list` lists them.
        #[arg(long, value_name = "NAME")]
        network: String,
        #[command(flatten)]
        options: OwnStampOptions,
    },
    /// List on-chain Stamps.
    List,
    /// Print an on-chain Stamp with its condition.
    Show {
        /// Name of the Stamp.
        name: StampName,
    },
    /// Remove an on-chain Stamp and withdraw what was issued.
    Remove {
        /// Name of the Stamp.
        name: StampName,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// List the kinds of conditions with their settings.
    Kinds,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
