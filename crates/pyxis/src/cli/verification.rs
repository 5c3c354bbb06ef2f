//! The commands of verification.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};
use pyxis_verify::registry::Issuer;

/// `pyxis proofs …`
#[derive(Debug, Subcommand)]
pub enum ProofsCommand {
    /// Register signed statements from a file with one JSON statement per line. Safe to run again.
    Import {
        /// The file; - reads standard input.
        file: PathBuf,
        /// File for rejected lines and the reasons; default: FILE.rejects.jsonl.
        #[arg(long, value_name = "FILE")]
        rejects: Option<PathBuf>,
    },
    /// List proofs, newest first.
    List {
        /// Only proofs of this address.
        #[arg(long)]
        address: Option<Subject>,
        /// Maximum number.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Revoke a proof, as the operator.
    Revoke {
        /// The address that holds it.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Network on which it counts.
        #[arg(long)]
        network: NetworkName,
        /// Reason, for the record.
        #[arg(long)]
        reason: String,
    },
    /// Sign, as its issuer, a statement that moves a proof to another address, and register it.
    Rebind {
        /// The current address.
        #[arg(long)]
        from: Subject,
        /// The new address.
        #[arg(long)]
        to: Subject,
        #[command(flatten)]
        what: What,
        /// Nullifier.
        #[arg(long)]
        nullifier: ProofNullifier,
        /// The issuer's key: <file:PATH> or env:NAME.
        #[arg(long, value_name = "SOURCE")]
        key: String,
    },
    /// Sign, as an issuer, a proof of an address, and print the statement for `import`.
    Sign {
        /// The address.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Network on which it counts.
        #[arg(long)]
        network: NetworkName,
        /// Nullifier: a number below the order of the bn254 scalar field.
        #[arg(long)]
        nullifier: ProofNullifier,
        /// Days until it expires.
        #[arg(long, default_value_t = 365)]
        days: u16,
        /// The issuer's key: <file:PATH> or env:NAME.
        #[arg(long, value_name = "SOURCE")]
        key: String,
    },
    /// Write a new issuer key (Ed25519) to a file and print the issuer.
    Keygen {
        /// The file to write; it must not exist.
        file: PathBuf,
    },
    /// Trusted issuers of proofs.
    #[command(subcommand)]
    Issuer(ProofIssuerCommand),
    /// The keys that sign attestations.
    #[command(subcommand)]
    Keys(AttestationKeysCommand),
    /// Block an address: its proofs no longer count anywhere. Exit 3 if it is already blocked.
    Block {
        /// The address.
        address: Subject,
        /// Only on this network; default: on all.
        #[arg(long)]
        network: Option<String>,
        /// Reason, for the record.
        #[arg(long)]
        reason: String,
    },
    /// Unblock an address.
    Unblock {
        /// The address.
        address: Subject,
        /// Only on this network; default: on all.
        #[arg(long)]
        network: Option<String>,
    },
}

/// Kind and action of a proof.
#[derive(Clone, Copy, Debug, Args)]
pub struct What {
    /// gov-id, epassport, phone, biometrics, residence-us or clean-hands.
    #[arg(long, value_parser = kind)]
    pub kind: Kind,
    /// The action, for example 123456789.
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
        /// ed25519 (Sui) or eip712 (EVM).
        #[arg(value_parser = ["ed25519", "eip712"])]
        scheme: String,
    },
}

/// `pyxis proofs issuer …`
#[derive(Debug, Subcommand)]
pub enum ProofIssuerCommand {
    /// Trust an issuer for kinds of proofs. Exit 3 if it is already trusted.
    Add {
        /// An Ed25519 key (0x and 64 digits) or an EVM address.
        issuer: Issuer,
        /// The kinds, comma-separated, or all.
        #[arg(long, value_parser = kinds)]
        kinds: Kinds,
        /// Name for people.
        #[arg(long)]
        name: String,
    },
    /// List issuers.
    List,
    /// Stop trusting an issuer. Proofs that it registered stay.
    Remove {
        /// The issuer.
        issuer: Issuer,
        /// The kinds, comma-separated, or all.
        #[arg(long, value_parser = kinds, default_value = "all")]
        kinds: Kinds,
    },
}

/// Some kinds.
#[derive(Clone, Debug)]
pub struct Kinds(pub Vec<Kind>);

/// `pyxis network …`
#[derive(Debug, Subcommand)]
pub enum NetworkCommand {
    /// List networks with their source, their newest block and the time it took to query it.
    List,
}

/// `pyxis check …`
#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Check if an address is a unique human for an action.
    Sybil {
        /// The address.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// The network.
        #[arg(long)]
        network: String,
        /// Block number at which to check; default: the newest.
        #[arg(long, value_name = "HEIGHT")]
        at: Option<i64>,
    },
    /// Check if an address is a resident of the United States.
    Residence {
        /// The address.
        address: Subject,
        /// The network.
        #[arg(long)]
        network: String,
        /// Block number at which to check; default: the newest.
        #[arg(long, value_name = "HEIGHT")]
        at: Option<i64>,
    },
    /// Check if an address has clean hands, using the external index.
    CleanHands {
        /// The address.
        address: pyxis_core::address::EvmAddress,
    },
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::as_str).collect();
        format!("one of {}", known.join(", "))
    })
}

fn kinds(names: &str) -> Result<Kinds, String> {
    if names == "all" {
        return Ok(Kinds(Kind::ALL.to_vec()));
    }
    names.split(',').map(|name| kind(name.trim())).collect::<Result<_, _>>().map(Kinds)
}
