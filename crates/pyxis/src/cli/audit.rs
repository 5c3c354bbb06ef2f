//! `pyxis audit`.

use clap::{Subcommand, ValueEnum};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;

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
    /// List requests that were open when a standby of PostgreSQL was promoted.
    InFlight {
        /// Time of the promotion (RFC 3339) [default: when the latest one was noticed].
        #[arg(long, value_name = "TIME", value_parser = time)]
        around: Option<UnixMillis>,
        /// Seconds before and after that time.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        margin: u64,
    },
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
