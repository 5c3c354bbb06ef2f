//! The commands of verification.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};
use pyxis_verify::registry::Issuer;

use super::confirmation::Confirmation;
use super::names::{IssuerLabel, NameArgument};

/// `pyxis proofs …`
#[derive(Debug, Subcommand)]
pub enum ProofsCommand {
    /// Register signed statements from a file with one JSON statement per line. Safe to run again.
    Import {
        /// File of statements; - reads standard input.
        file: PathBuf,
        /// File for rejected lines and the reasons [default: FILE.rejects.jsonl].
        #[arg(long, value_name = "FILE")]
        rejects: Option<PathBuf>,
    },
    /// List proofs, newest first.
    List {
        /// Address, to list only its proofs.
        #[arg(long)]
        address: Option<Subject>,
        /// Maximum number of proofs.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Revoke a proof, as the operator.
    Revoke {
        /// Address that holds the proof.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Network of the proof.
        #[arg(long)]
        network: NetworkName,
        /// Reason, for the record.
        #[arg(long)]
        reason: String,
    },
    /// Sign and register, as the issuer, a statement that moves a proof to another address.
    Rebind {
        /// Current address.
        #[arg(long)]
        from: Subject,
        /// New address.
        #[arg(long)]
        to: Subject,
        #[command(flatten)]
        what: What,
        /// Nullifier.
        #[arg(long)]
        nullifier: ProofNullifier,
        /// Source of the issuer's key: `file:PATH` or `env:NAME`.
        #[arg(long, value_name = "SOURCE")]
        key: String,
    },
    /// Sign a proof of an address, as the issuer, and print the statement for `proofs import`.
    Sign {
        /// Address.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Network of the proof.
        #[arg(long)]
        network: NetworkName,
        /// Nullifier: a number below the order of the bn254 scalar field.
        #[arg(long)]
        nullifier: ProofNullifier,
        /// Days until the proof expires.
        #[arg(long, default_value_t = 365)]
        days: u16,
        /// Source of the issuer's key: `file:PATH` or `env:NAME`.
        #[arg(long, value_name = "SOURCE")]
        key: String,
    },
    /// Generate an issuer key (Ed25519), write it to a file and print the issuer.
    Keygen {
        /// File to write; it must not exist.
        file: PathBuf,
    },
    /// Manage trusted issuers of proofs.
    #[command(subcommand, alias = "issuers")]
    Issuer(ProofIssuerCommand),
    /// List and rotate the keys that sign attestations.
    #[command(subcommand, visible_alias = "key")]
    Keys(AttestationKeysCommand),
    /// Block an address, so that its proofs no longer count. Exit 3 if it is already blocked.
    Block {
        /// Address.
        address: Subject,
        /// Network [default: all networks].
        #[arg(long)]
        network: Option<String>,
        /// Reason, for the record.
        #[arg(long)]
        reason: String,
    },
    /// Unblock an address.
    Unblock {
        /// Address.
        address: Subject,
        /// Network [default: all networks].
        #[arg(long)]
        network: Option<String>,
    },
}

/// Kind and action of a proof.
#[derive(Clone, Copy, Debug, Args)]
pub struct What {
    /// Kind of proof: gov-id, epassport, phone, biometrics, residence-us or clean-hands.
    #[arg(long, value_parser = kind)]
    pub kind: Kind,
    /// Action id, for example 123456789.
    #[arg(long)]
    pub action_id: ActionId,
}

/// `pyxis proofs keys …`
#[derive(Debug, Subcommand)]
pub enum AttestationKeysCommand {
    /// List keys, newest first.
    List,
    /// Retire the current key and sign with a new one.
    Rotate {
        /// Signature scheme: ed25519 (Sui) or eip712 (EVM).
        #[arg(value_parser = ["ed25519", "eip712"])]
        scheme: String,
    },
}

/// `pyxis proofs issuer …`
#[derive(Debug, Subcommand)]
pub enum ProofIssuerCommand {
    /// Trust an issuer for kinds of proofs. Exit 3 if it is already trusted.
    #[command(alias = "create")]
    Add {
        /// Ed25519 public key (0x and 64 hex characters) or EVM address (0x and 40).
        issuer: Issuer,
        #[command(flatten)]
        name: NameArgument<IssuerLabel>,
        /// Kinds of proofs, comma-separated, or all.
        #[arg(long, value_parser = kinds)]
        kinds: Kinds,
    },
    /// List issuers.
    List,
    /// Stop trusting an issuer. Proofs that it registered stay.
    #[command(alias = "delete")]
    Remove {
        /// Issuer.
        issuer: Issuer,
        /// Kinds of proofs, comma-separated, or all.
        #[arg(long, value_parser = kinds, default_value = "all")]
        kinds: Kinds,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// Some kinds.
#[derive(Clone, Debug)]
pub struct Kinds(pub Vec<Kind>);

/// `pyxis network …`
#[derive(Debug, Subcommand)]
pub enum NetworkCommand {
    /// List networks with their sources, newest block and query time.
    List,
}

/// `pyxis check …`
#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Check whether an address is a unique human for an action.
    Sybil {
        /// Address.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Network.
        #[arg(long)]
        network: String,
        /// Block number to check at [default: the newest block].
        #[arg(long, value_name = "HEIGHT")]
        at: Option<i64>,
    },
    /// Check whether an address is a resident of the United States.
    Residence {
        /// Address.
        address: Subject,
        /// Network.
        #[arg(long)]
        network: String,
        /// Block number to check at [default: the newest block].
        #[arg(long, value_name = "HEIGHT")]
        at: Option<i64>,
    },
    /// Check whether an address has clean hands, using the external index.
    CleanHands {
        /// Address.
        address: pyxis_core::address::EvmAddress,
    },
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::as_str).collect();
        format!("must be one of {}", known.join(", "))
    })
}

fn kinds(names: &str) -> Result<Kinds, String> {
    if names == "all" {
        return Ok(Kinds(Kind::ALL.to_vec()));
    }
    names.split(',').map(|name| kind(name.trim())).collect::<Result<_, _>>().map(Kinds)
}
