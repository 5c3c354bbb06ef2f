//! The commands of scoring.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::hex;
use pyxis_core::id::{ApiKeyId, ScorerChangeId, ScorerId};
use pyxis_core::stamp::{Nullifier, StampName};

use super::confirmation::Confirmation;
use super::names::{ApiKeyLabel, IssuerLabel, NameArgument, ScorerLabel};

/// `pyxis scorer …`
#[derive(Debug, Subcommand)]
pub enum ScorerCommand {
    /// Add a scorer, by default with the published weights and threshold.
    #[command(alias = "create")]
    Add {
        #[command(flatten)]
        name: NameArgument<ScorerLabel>,
        /// Threshold: the score needed to pass.
        #[arg(long)]
        threshold: Option<Decimal>,
        /// JSON file with an object of Stamp names and weights.
        #[arg(long, value_name = "FILE")]
        weights: Option<PathBuf>,
    },
    /// List scorers.
    List,
    /// Print a scorer with its weights.
    Show {
        /// Scorer number.
        id: ScorerId,
    },
    /// Change a scorer's weights or threshold. Exit 3 if that changes nothing.
    SetWeights {
        /// Scorer number.
        id: ScorerId,
        /// Weights to change, for example Google=1.5.
        #[arg(value_name = "NAME=WEIGHT", value_parser = weight)]
        changes: Vec<(StampName, Decimal)>,
        /// JSON file with an object of Stamp names and weights; it first replaces all weights.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Threshold: the score needed to pass.
        #[arg(long)]
        threshold: Option<Decimal>,
        /// Time from which the change applies, for example 2026-01-31T09:05:00Z. Weights that are not named keep the
        /// values scheduled for that time [default: now].
        #[arg(long, value_name = "TIME", value_parser = time)]
        from: Option<UnixMillis>,
        /// Let holders keep a lowered weight until their Stamp expires.
        #[arg(long)]
        keep_until_expiry: bool,
    },
    /// Withdraw a scheduled change before its moment.
    WithdrawChange {
        /// Scorer number.
        id: ScorerId,
        /// Id of the change, as `scorer show` prints it.
        change: ScorerChangeId,
    },
    /// Create the sandbox scorer and its test wallets, add missing ones, and print them.
    Sandbox,
    /// Write all scored addresses of a scorer to a file.
    Export {
        /// Scorer number.
        id: ScorerId,
        /// File to write; - is standard output.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Format [default: parquet for a name that ends in .parquet, otherwise csv].
        #[arg(long, value_parser = ["csv", "parquet"])]
        format: Option<String>,
        /// Past time (RFC 3339): latest responses before it [default: current scores].
        #[arg(long, value_name = "TIME", value_parser = time)]
        at: Option<UnixMillis>,
    },
    /// Recompute a scorer's stale scores now. Exit 3 if none is stale.
    Rescore {
        /// Scorer number.
        id: ScorerId,
    },
}

/// A Stamp name may contain anything but spaces: the last `=` counts.
fn weight(text: &str) -> Result<(StampName, Decimal), String> {
    let (name, weight) = text.rsplit_once('=').ok_or("write NAME=WEIGHT")?;
    let name = name.parse().map_err(|error| format!("{name:?}: {error}"))?;
    let weight = weight.parse().map_err(|error| format!("{weight:?}: {error}"))?;
    Ok((name, weight))
}

/// `pyxis address …`
#[derive(Debug, Subcommand)]
pub enum AddressCommand {
    /// Erase what is stored about an address, and print a receipt. Exit 3 if nothing is left.
    Erase {
        /// Address.
        address: EvmAddress,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Print the receipts of an erased address. Exit 3 if there is none.
    Receipts {
        /// Address.
        address: EvmAddress,
    },
}

/// `pyxis score …`
#[derive(Debug, Subcommand)]
pub enum ScoreCommand {
    /// Write the addresses that pass as a Merkle list for contracts, and print its root. Exit 3 if none passes.
    Merkle {
        /// Scorer number.
        #[arg(long, value_name = "ID")]
        scorer: ScorerId,
        /// Past time (RFC 3339): latest responses before it [default: current scores].
        #[arg(long, value_name = "TIME", value_parser = time)]
        at: Option<UnixMillis>,
        /// New file, as @openzeppelin/merkle-tree loads it.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Print a score as an attestation of EAS, and the transaction that attests it on chain, as JSON.
    Eas {
        /// Address.
        address: EvmAddress,
        /// Scorer number.
        #[arg(long, value_name = "ID")]
        scorer: ScorerId,
        /// Id of the chain.
        #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u64).range(1..=(1 << 53) - 1))]
        chain_id: u64,
        /// Address of the EAS contract on this chain.
        #[arg(long, value_name = "ADDRESS")]
        contract: EvmAddress,
        /// UID of the schema [default: UID of the revocable schema without a resolver].
        #[arg(long, value_name = "UID", value_parser = uid)]
        schema: Option<[u8; 32]>,
    },
    /// Print the proof that an address is on a Merkle list. Exit 1 if it is not.
    Proof {
        /// Address.
        address: EvmAddress,
        /// File of the list.
        #[arg(long, value_name = "FILE")]
        list: PathBuf,
    },
}

fn uid(text: &str) -> Result<[u8; 32], String> {
    let bytes = hex::decode_prefixed(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "write 0x and 64 hex digits".to_owned())
}

fn time(text: &str) -> Result<UnixMillis, String> {
    UnixMillis::parse_rfc3339(text).ok_or_else(|| "write a time such as 2026-01-31T09:05:00Z".to_owned())
}

/// `pyxis score-key …`
#[derive(Debug, Subcommand)]
pub enum ScoreKeyCommand {
    /// List the keys that sign scores, newest first.
    List,
    /// Sign scores with a new key. The earlier one stays published until its last signature has expired.
    Rotate {
        /// Form of the signed score: es256 (tokens) or eip712 (EVM contracts).
        #[arg(value_parser = ["es256", "eip712"])]
        scheme: String,
        /// Days until the new key signs, 0 to 30; it is published immediately [default: 0].
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u8).range(..=30))]
        after: Option<u8>,
        /// Stop publishing the earlier keys, because others may know them. What they signed is void.
        #[arg(long, conflicts_with = "after")]
        compromised: bool,
    },
}

/// `pyxis api-key …`
#[derive(Debug, Subcommand)]
pub enum ApiKeyCommand {
    /// Add an API key and print it, once.
    #[command(alias = "create")]
    Add(AddApiKey),
    /// List API keys, without their secrets.
    List,
    /// Change an API key's tier. Exit 3 if that changes nothing.
    SetTier {
        /// API key id.
        id: ApiKeyId,
        /// Tier, 1 to 4.
        tier: i64,
        /// Requests per 15 minutes for tier 4: more than 2000.
        #[arg(long)]
        limit: Option<i64>,
        /// Change the tier of the models endpoint instead of the Stamps endpoints.
        #[arg(long)]
        models: bool,
    },
    /// Replace the origins of a publishable key. Exit 3 if that changes nothing.
    SetOrigins {
        /// API key id.
        id: ApiKeyId,
        /// Origins of pages, exactly as browsers send them, for example `https://app.example.org`.
        #[arg(required = true, value_name = "ORIGIN")]
        origins: Vec<String>,
    },
    /// Let an API key read the history of scores. Exit 3 if it already may.
    AllowHistory {
        /// API key id.
        id: ApiKeyId,
    },
    /// Revoke an API key permanently. Exit 3 if it is already revoked.
    Revoke {
        /// API key id.
        id: ApiKeyId,
    },
}

/// Place of an API key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ApiKeyKind {
    /// Secret, on a server.
    #[default]
    Server,
    /// In pages, for the widget: one scorer, and only the origins that are named.
    Publishable,
}

/// `pyxis api-key add`
#[derive(Debug, Args)]
pub struct AddApiKey {
    #[command(flatten)]
    pub name: NameArgument<ApiKeyLabel>,
    /// Kind of key: server, or publishable for pages with the widget.
    #[arg(long, value_enum, default_value_t)]
    pub kind: ApiKeyKind,
    /// Scorer number of a publishable key.
    #[arg(long, value_name = "ID", required_if_eq("kind", "publishable"))]
    pub scorer: Option<ScorerId>,
    /// Origin of a publishable key's pages, for example `https://app.example.org`, or `http://localhost:*` for
    /// development; repeat for several.
    #[arg(long = "origin", value_name = "ORIGIN", required_if_eq("kind", "publishable"))]
    pub origins: Vec<String>,
    /// Tier of the Stamps endpoints, 1 to 4.
    #[arg(long, default_value_t = 1)]
    pub tier: i64,
    /// Requests to the Stamps endpoints per 15 minutes with `--tier 4`, above 2000.
    #[arg(long)]
    pub limit: Option<i64>,
    /// Tier of the models endpoint, 1 to 4.
    #[arg(long, default_value_t = 1)]
    pub models_tier: i64,
    /// Requests to the models endpoint per 15 minutes with `--models-tier 4`, above 2000.
    #[arg(long)]
    pub models_limit: Option<i64>,
    /// Allow writing Stamps.
    #[arg(long)]
    pub write: bool,
    /// Forbid reading scores and Stamps.
    #[arg(long)]
    pub no_read: bool,
}

/// `pyxis stamps …`
#[derive(Debug, Subcommand)]
pub enum StampsCommand {
    /// Store credentials from a file with one JSON object per line. An interrupted import continues where it stopped.
    Import(Import),
    #[command(flatten)]
    Manage(ManageStamps),
}

/// `pyxis stamps show|sign|revoke`
#[derive(Debug, Subcommand)]
pub enum ManageStamps {
    /// Sign credentials with the workspace's own key and print them, one per line. Nothing is stored.
    Sign(SignStamps),
    /// Explain an address's Stamps: the contribution of each to a scorer, and why.
    Show {
        /// Address.
        address: EvmAddress,
        /// Scorer number [default: the first scorer].
        #[arg(long, value_name = "ID")]
        scorer: Option<ScorerId>,
    },
    /// Revoke a credential on behalf of its issuer. It no longer counts and cannot be added again. Exit 3 if it is
    /// already revoked.
    Revoke {
        /// Signing digest of the credential, as `stamps show` prints it.
        #[arg(long, conflicts_with_all = ["address", "provider"], required_unless_present = "address")]
        digest: Option<String>,
        /// Address of the holder, with --provider.
        #[arg(long, requires = "provider")]
        address: Option<EvmAddress>,
        /// Stamp name, with --address.
        #[arg(long, requires = "address")]
        provider: Option<StampName>,
        /// Reason, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
}

/// `pyxis stamps sign`
#[derive(Debug, Args)]
pub struct SignStamps {
    /// Address of the holder.
    #[arg(required_unless_present = "file")]
    pub address: Option<EvmAddress>,
    /// Stamp name.
    #[arg(long, value_name = "NAME")]
    pub provider: StampName,
    /// Nullifier of the account behind the credential; repeat it for several [default: one for the address].
    #[arg(long, value_name = "TEXT", requires = "address")]
    pub nullifier: Vec<Nullifier>,
    /// File with one holder per line: ADDRESS, or ADDRESS,NULLIFIER,…; - reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "address")]
    pub file: Option<PathBuf>,
    /// Days until the credentials expire, 1 to 3650.
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(i64).range(1..=3650))]
    pub valid_days: i64,
    /// New file for the credentials [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `pyxis stamp-key …`
#[derive(Debug, Subcommand)]
pub enum StampKeyCommand {
    /// List the keys, newest first. The first one is made when something is first signed.
    List,
    /// Sign with a new key, whose issuer is trusted immediately. Stamps of the earlier keys stay.
    Rotate {
        /// Stop trusting the issuers of the earlier keys, because others may know them.
        #[arg(long)]
        compromised: bool,
    },
}

/// `pyxis stamps import`
#[derive(Debug, Args)]
pub struct Import {
    /// File of credentials; - reads standard input.
    pub file: PathBuf,
    /// File for rejected lines and the reasons [default: FILE.rejects.jsonl].
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Start over, even if an earlier run was interrupted.
    #[arg(long)]
    pub restart: bool,
    /// Threads that check signatures, 1 to 256 [default: one per core].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

/// `pyxis issuer …`
#[derive(Debug, Subcommand)]
pub enum IssuerCommand {
    /// Trust an issuer, or rename a trusted one. Exit 3 if it is already listed under this name.
    #[command(alias = "create")]
    Add {
        /// Any DID of the issuer's key: did:ethr:0x…, did:pkh:eip155:<chain>:0x…, or did:key of an Ed25519 or secp256k1
        /// key.
        did: String,
        #[command(flatten)]
        name: NameArgument<IssuerLabel>,
    },
    /// List issuers.
    List,
    /// Stop trusting an issuer. Its Stamps stay until they expire or are revoked.
    #[command(alias = "delete")]
    Remove {
        /// DID of the issuer.
        did: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}
