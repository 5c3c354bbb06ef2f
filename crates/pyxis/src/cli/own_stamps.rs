//! The commands of Stamps that a workspace issues by rules of its own.

use std::path::PathBuf;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{Args, Subcommand};
use pyxis_core::address::EvmAddress;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::StampName;

use super::confirmation::Confirmation;
use super::names::{ListLabel, NameArgument, StampLabel, usage};

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
    #[arg(value_name = "ADDRESS", required_unless_present_any = ["file", "name_option"])]
    pub addresses: Vec<EvmAddress>,
    /// File with one address per line, or CSV with addresses in the first column; - reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "addresses")]
    pub file: Option<PathBuf>,
}

impl AddressOptions {
    /// The options, with the address that `--name` has pushed to the place of the list's name.
    pub fn after(mut self, first: Option<StampName>) -> Result<Self> {
        if let Some(first) = first {
            let wrong = |_| usage(ErrorKind::InvalidValue, &format!("{first} is not an address"));
            self.addresses.insert(0, first.as_str().parse().map_err(wrong)?);
        }
        if self.file.is_some() != self.addresses.is_empty() {
            return Err(usage(ErrorKind::TooFewValues, "name addresses, or a file of them with --file"));
        }
        Ok(self)
    }
}

/// `pyxis allow-list …`
#[derive(Debug, Subcommand)]
pub enum AllowListCommand {
    /// Add an empty allow list.
    Create {
        #[command(flatten)]
        name: NameArgument<ListLabel>,
        #[command(flatten)]
        options: OwnStampOptions,
    },
    /// List allow lists.
    List,
    /// Print an allow list.
    Show {
        #[command(flatten)]
        name: NameArgument<ListLabel>,
        /// Print its addresses instead, one per line.
        #[arg(long)]
        addresses: bool,
    },
    /// Add addresses to a list. Exit 3 if all of them are on it.
    Add {
        #[command(flatten)]
        name: NameArgument<ListLabel>,
        #[command(flatten)]
        addresses: AddressOptions,
        /// Read the other columns of the file as nullifiers. Of addresses with the same nullifier, one Stamp counts.
        #[arg(long, requires = "file")]
        nullifiers: bool,
    },
    /// Remove addresses from a list and withdraw their Stamps. Exit 3 if none of them is on it.
    Remove {
        #[command(flatten)]
        name: NameArgument<ListLabel>,
        #[command(flatten)]
        addresses: AddressOptions,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Delete a list and withdraw its Stamps.
    Delete {
        #[command(flatten)]
        name: NameArgument<ListLabel>,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// `pyxis onchain-stamp …`
#[derive(Debug, Subcommand)]
pub enum OnchainStampCommand {
    /// Add a condition on a chain as a Stamp.
    #[command(alias = "create")]
    Add(NewOnchainStamp),
    /// List on-chain Stamps.
    List,
    /// Print an on-chain Stamp with its condition.
    Show {
        #[command(flatten)]
        name: NameArgument<StampLabel>,
    },
    /// Remove an on-chain Stamp and withdraw what was issued.
    #[command(alias = "delete")]
    Remove {
        #[command(flatten)]
        name: NameArgument<StampLabel>,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// List the kinds of conditions with their settings.
    Kinds,
}

/// `pyxis onchain-stamp add`
#[derive(Debug, Args)]
pub struct NewOnchainStamp {
    #[command(flatten)]
    name: NameArgument<StampLabel>,
    /// Kind of condition, as `onchain-stamp kinds` lists them.
    #[arg(required_unless_present = "name_option")]
    kind: Option<String>,
    /// Settings of the kind, for example `contract=0x… at_least=1`.
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<Setting>,
    /// Name of a network with nodes, as `network list` lists them.
    #[arg(long, value_name = "NAME")]
    pub network: String,
    #[command(flatten)]
    pub options: OwnStampOptions,
}

impl NewOnchainStamp {
    /// Name, kind, settings, and the options.
    pub fn parts(self) -> Result<(StampName, String, Vec<Setting>, OwnStampOptions)> {
        let Self { name, kind, mut settings, options, .. } = self;
        let (name, first) = name.split()?;
        let kind = match (first, kind) {
            (None, kind) => kind,
            (Some(first), None) => Some(first.to_string()),
            // After --name, the kind is where the name would be.
            (Some(first), Some(second)) => {
                let second = setting(&second).map_err(|text| usage(ErrorKind::InvalidValue, &text))?;
                settings.insert(0, second);
                Some(first.to_string())
            }
        };
        let missing = "KIND is missing; `pyxis onchain-stamp kinds` lists them";
        let kind = kind.ok_or_else(|| usage(ErrorKind::MissingRequiredArgument, missing))?;
        Ok((name, kind, settings, options))
    }
}

/// A setting of a kind: its name and its value.
type Setting = (String, String);

fn setting(text: &str) -> Result<Setting, String> {
    let (name, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
