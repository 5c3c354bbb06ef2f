//! `pyxis audit` and `pyxis receipt-key`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::TxnId;

/// `pyxis audit …`
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Verify every record, the hash chain and the signed heads.
    Verify,
    /// Print records, oldest first.
    Export {
        /// Output format.
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormat,
    },
    /// Print the newest records.
    Tail {
        /// Number of records.
        #[arg(short = 'n', long, default_value_t = 20)]
        lines: u32,
        /// Event to show, by its present or an earlier name; repeat for several.
        #[arg(long = "kind", value_name = "EVENT", value_parser = event)]
        events: Vec<AuditEvent>,
    },
    /// Write the signed receipt of a decided request.
    Receipt {
        /// Transaction id.
        txn_id: TxnId,
        /// New file to write [default: standard output].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Verify a receipt. With --keys, only the two files are read. Exit 1 if it is not genuine.
    VerifyReceipt {
        /// Receipt to verify.
        file: PathBuf,
        /// Saved response of /.well-known/pyxis-receipt-keys, or output of `pyxis receipt-key export` [default: the keys of
        /// the installation here].
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
    },
    /// List requests that were open when a standby of PostgreSQL was promoted, in all workspaces or that of --workspace.
    InFlight {
        /// Time of the promotion (RFC 3339) [default: when the latest one was noticed].
        #[arg(long, value_name = "TIME", value_parser = time)]
        around: Option<UnixMillis>,
        /// Seconds before and after that time, 0 to 604800 (7 days).
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        #[arg(value_parser = clap::value_parser!(u64).range(..=604_800))]
        margin: u64,
    },
}

/// `pyxis receipt-key …`
#[derive(Debug, Subcommand)]
pub enum ReceiptKeyCommand {
    /// List the keys that sign receipts, newest first.
    List,
    /// Sign receipts with a new key. Earlier ones stay published.
    Rotate {
        /// Stop publishing the earlier keys, because others may know them. Their receipts must be issued again.
        #[arg(long)]
        compromised: bool,
    },
    /// Print the public keys as a JSON Web Key Set, for `pyxis audit verify-receipt`.
    Export,
}

fn time(text: &str) -> Result<UnixMillis, String> {
    UnixMillis::parse_rfc3339(text).ok_or_else(|| "not a time such as 2026-01-31T12:00:00Z".to_owned())
}

fn event(name: &str) -> Result<AuditEvent, String> {
    AuditEvent::from_name(name)
        .ok_or_else(|| "no such event; docs/reference/audit-events.md lists them".to_owned())
}

/// Formats of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExportFormat {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values with a heading.
    Csv,
}
