//! The commands of scoring.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_core::address::EvmAddress;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ApiKeyId, ScorerId};
use pyxis_core::stamp::StampName;

/// `pyxis scorer …`
#[derive(Debug, Subcommand)]
pub enum ScorerCommand {
    /// Add a scorer; without options it weighs and passes as published.
    Add {
        /// Its name.
        name: String,
        /// The score needed to pass.
        #[arg(long)]
        threshold: Option<Decimal>,
        /// A JSON object, Stamp name to weight.
        #[arg(long, value_name = "FILE")]
        weights: Option<PathBuf>,
    },
    /// List scorers.
    List,
    /// Print a scorer with its weights.
    Show {
        /// Its number.
        id: ScorerId,
    },
    /// Change weights or the threshold. Exit 3 if that changes nothing.
    SetWeights {
        /// Its number.
        id: ScorerId,
        /// Single weights to change.
        #[arg(value_name = "NAME=WEIGHT", value_parser = weight)]
        changes: Vec<(StampName, Decimal)>,
        /// A JSON object, Stamp name to weight, that replaces all weights first.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// The score needed to pass.
        #[arg(long)]
        threshold: Option<Decimal>,
    },
    /// Compute now what would be computed when it is next asked for. Exit 3 if nothing is outdated.
    Rescore {
        /// Its number.
        id: ScorerId,
    },
}

/// The name of a Stamp may hold anything but spaces: the last `=` counts.
fn weight(text: &str) -> Result<(StampName, Decimal), String> {
    let (name, weight) = text.rsplit_once('=').ok_or("write NAME=WEIGHT")?;
    let name = name.parse().map_err(|error| format!("{name:?}: {error}"))?;
    let weight = weight.parse().map_err(|error| format!("{weight:?}: {error}"))?;
    Ok((name, weight))
}

/// `pyxis api-key …`
#[derive(Debug, Subcommand)]
pub enum ApiKeyCommand {
    /// Add a key and print it, once.
    Add(AddApiKey),
    /// List keys, never their text.
    List,
    /// Change how much a key may ask. Exit 3 if that changes nothing.
    SetTier {
        /// Its id.
        id: ApiKeyId,
        /// 1 to 4.
        tier: i64,
        /// Requests in 15 minutes, for tier 4: more than 2000.
        #[arg(long)]
        limit: Option<i64>,
        /// Of the models endpoint instead of the Stamps endpoints.
        #[arg(long)]
        models: bool,
    },
    /// Let a key read the history of scores. Exit 3 if it may.
    AllowHistory {
        /// Its id.
        id: ApiKeyId,
    },
    /// Revoke a key for good. Exit 3 if it is.
    Revoke {
        /// Its id.
        id: ApiKeyId,
    },
}

/// `pyxis api-key add`
#[derive(Debug, Args)]
pub struct AddApiKey {
    /// Its name, for people.
    pub name: String,
    /// Tier of the Stamps endpoints, 1 to 4.
    #[arg(long, default_value_t = 1)]
    pub tier: i64,
    /// Requests in 15 minutes there, for tier 4: more than 2000.
    #[arg(long)]
    pub limit: Option<i64>,
    /// Tier of the models endpoint, 1 to 4.
    #[arg(long, default_value_t = 1)]
    pub models_tier: i64,
    /// Requests in 15 minutes there, for tier 4.
    #[arg(long)]
    pub models_limit: Option<i64>,
    /// Let it write Stamps.
    #[arg(long)]
    pub write: bool,
    /// Do not let it read scores and Stamps.
    #[arg(long)]
    pub no_read: bool,
}

/// `pyxis stamps …`
#[derive(Debug, Subcommand)]
pub enum StampsCommand {
    /// Store credentials from a file, one JSON object on each line. Interrupted, it goes on where it
    /// stopped.
    Import(Import),
    #[command(flatten)]
    Manage(ManageStamps),
}

/// `pyxis stamps show|revoke`
#[derive(Debug, Subcommand)]
pub enum ManageStamps {
    /// Print each Stamp of an address, what it is worth in a scorer, and why.
    Show {
        /// The address.
        address: EvmAddress,
        /// The scorer's number; default: the first.
        #[arg(long, value_name = "ID")]
        scorer: Option<ScorerId>,
    },
    /// Revoke a credential for its issuer: it is out, and cannot come back in. Exit 3 if it is revoked.
    Revoke {
        /// The credential's signing digest, as `stamps show` prints it.
        #[arg(long, conflicts_with_all = ["address", "provider"], required_unless_present = "address")]
        digest: Option<String>,
        /// The holder, with --provider.
        #[arg(long, requires = "provider")]
        address: Option<EvmAddress>,
        /// The name of the Stamp, with --address.
        #[arg(long, requires = "address")]
        provider: Option<StampName>,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
}

/// `pyxis stamps import`
#[derive(Debug, Args)]
pub struct Import {
    /// The file; - reads standard input.
    pub file: PathBuf,
    /// Where to write what was rejected and why; default: FILE.rejects.jsonl.
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Begin anew, even if an earlier run was interrupted.
    #[arg(long)]
    pub restart: bool,
    /// Threads that check signatures, 1 to 256; default: one for each core.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

/// `pyxis issuer …`
#[derive(Debug, Subcommand)]
pub enum IssuerCommand {
    /// Believe an issuer, or rename one that is believed. Exit 3 if it is listed under this name.
    Add {
        /// Any DID of its key: did:ethr:0x…, did:pkh:eip155:<chain>:0x…, or did:key of an Ed25519 or secp256k1 key.
        did: String,
        /// For people.
        #[arg(long)]
        name: String,
    },
    /// List issuers.
    List,
    /// Believe an issuer no longer. Stamps that it issued stay until they expire or are revoked.
    Remove {
        /// Its DID.
        did: String,
    },
}
