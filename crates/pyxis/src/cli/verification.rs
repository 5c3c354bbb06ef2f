//! The commands of verification.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};
use pyxis_verify::registry::Issuer;

/// `pyxis proofs …`
#[derive(Debug, Subcommand)]
pub enum ProofsCommand {
    /// Register what issuers signed, from a file with one JSON statement on each line. Safe to run again.
    Import {
        /// The file; - reads standard input.
        file: PathBuf,
        /// Where to write what was rejected and why; default: FILE.rejects.jsonl.
        #[arg(long, value_name = "FILE")]
        rejects: Option<PathBuf>,
    },
    /// List proofs, newest first.
    List {
        /// Of this address.
        #[arg(long)]
        address: Option<Subject>,
        /// At most so many.
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Revoke a proof, as the operator.
    Revoke {
        /// The address that holds it.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Where it counts.
        #[arg(long)]
        network: NetworkName,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
    },
    /// Sign, as its issuer, that a proof moves to another address, and register that.
    Rebind {
        /// The address that loses it.
        #[arg(long)]
        from: Subject,
        /// The address that gets it.
        #[arg(long)]
        to: Subject,
        #[command(flatten)]
        what: What,
        /// The human's mark.
        #[arg(long)]
        nullifier: ProofNullifier,
        /// The issuer's key: <file:PATH> or env:NAME.
        #[arg(long, value_name = "SOURCE")]
        key: String,
    },
    /// Sign, as an issuer, that an address proved something, and print the statement for `import`.
    Sign {
        /// The address.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Where it counts.
        #[arg(long)]
        network: NetworkName,
        /// The human's mark: a number below the order of the bn254 scalar field.
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
    /// Issuers whose statements are believed.
    #[command(subcommand)]
    Issuer(ProofIssuerCommand),
    /// The keys that sign attestations.
    #[command(subcommand)]
    Keys(AttestationKeysCommand),
    /// Block an address: its proofs count nowhere from now on. Exit 3 if it is blocked.
    Block {
        /// The address.
        address: Subject,
        /// On one network; default: on every one.
        #[arg(long)]
        network: Option<String>,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
    },
    /// Block an address no longer.
    Unblock {
        /// The address.
        address: Subject,
        /// On one network; default: on every one.
        #[arg(long)]
        network: Option<String>,
    },
}

/// What a proof is of, and for which use.
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
    /// End a key and let a new one sign.
    Rotate {
        /// ed25519 (Sui) or eip712 (EVM).
        #[arg(value_parser = ["ed25519", "eip712"])]
        scheme: String,
    },
}

/// `pyxis proofs issuer …`
#[derive(Debug, Subcommand)]
pub enum ProofIssuerCommand {
    /// Believe an issuer about kinds of proofs. Exit 3 if it is believed.
    Add {
        /// An Ed25519 key (0x and 64 digits) or an EVM address.
        issuer: Issuer,
        /// The kinds, comma-separated, or all.
        #[arg(long, value_parser = kinds)]
        kinds: Kinds,
        /// For people.
        #[arg(long)]
        name: String,
    },
    /// List issuers.
    List,
    /// Believe an issuer no longer. Proofs that it registered stay.
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
    /// List networks with what they answer from, their newest block and how long it took to learn it.
    List,
}

/// `pyxis check …`
#[derive(Debug, Subcommand)]
pub enum CheckCommand {
    /// Whether an address is a unique human for an action.
    Sybil {
        /// The address.
        address: Subject,
        #[command(flatten)]
        what: What,
        /// Where.
        #[arg(long)]
        network: String,
        /// In the state of this block; default: now.
        #[arg(long, value_name = "HEIGHT")]
        at: Option<i64>,
    },
    /// Whether an address is a resident of the United States.
    Residence {
        /// The address.
        address: Subject,
        /// Where.
        #[arg(long)]
        network: String,
        /// In the state of this block; default: now.
        #[arg(long, value_name = "HEIGHT")]
        at: Option<i64>,
    },
    /// Whether an address has clean hands, by the external index.
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
