//! The newest signed head of the audit trail, which is kept outside the database, and what a start makes of it.
//!
//! The file outlives the database. Without it, a start that found no database, or an older one, would serve
//! without the lost records, credentials and policies.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use pyxis_core::actor::ActorId;
use pyxis_core::audit_event::AuditEvent;
use pyxis_gateway::State;
use pyxis_store::Store;
use pyxis_store::audit::{self, AuditRecord, Checkpoint, HeadMatch};
use serde_json::json;

use crate::config::Config;

/// Advice for a person who sees that records are missing.
pub const ADVICE: &str = "if the database is elsewhere, check PX_DATABASE_URL and PX_DATA_DIR; if it was lost, restore \
     the newest backup with pyxis restore; to go on without what is missing, start once with \
     `pyxis serve --accept-lost-database`";

/// The file.
pub fn path(config: &Config) -> PathBuf {
    config.data_dir.join("audit-head.json")
}

/// Reads the file; `None` if it does not exist.
pub fn read(config: &Config) -> Result<Option<Checkpoint>> {
    let path = path(config);
    match fs::read_to_string(&path) {
        Ok(line) => {
            let head = line.trim().parse::<Checkpoint>();
            head.map(Some).with_context(|| format!("{} is damaged", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Fails if the file names a head, or cannot be read, but the SQLite database does not exist. Call this before anything
/// creates it.
pub fn expect_file(config: &Config) -> Result<()> {
    match config.database.sqlite_path() {
        Some(database) if is_expected(config) && !database.exists() => {
            bail!(
                "{} is here, but its database {} is not; {ADVICE}",
                path(config).display(),
                database.display()
            )
        }
        _ => Ok(()),
    }
}

/// Fails if the file names a head, or cannot be read, but the database is empty. Call this before anything fills it.
pub async fn expect_records(config: &Config, store: &Store) -> Result<()> {
    if is_expected(config) && (store.schema_version().await? == 0 || audit::newest(store).await? == 0) {
        bail!("{} is here, but its database is empty; {ADVICE}", path(config).display());
    }
    Ok(())
}

/// True if the database must already have records. A file that cannot be read may name some.
fn is_expected(config: &Config) -> bool {
    !config.accept_lost_database && !matches!(read(config), Ok(None | Some(Checkpoint { seq: 0, .. })))
}

/// Compares the file with the audit trail before a start serves. If records are missing, fails, or with
/// `--accept-lost-database` records that and puts the file aside.
pub async fn check_records(config: &Config, state: &State) -> Result<()> {
    let accepted = config.accept_lost_database;
    let (head, missing) = match read(config) {
        Ok(None) => return Ok(()),
        Ok(Some(head)) => match describe_missing(state, &head).await? {
            None => return Ok(()),
            Some(missing) => (Some(head), missing),
        },
        Err(damage) if accepted => (None, format!("{damage:#}")),
        Err(damage) => bail!("{damage:#}; {ADVICE}"),
    };
    let file = path(config);
    if !accepted {
        bail!("{}: {missing}; {ADVICE}", file.display());
    }
    let aside = free_name(&file);
    let detail = json!({
        "missing": missing,
        "head_seq": head.as_ref().map(|head| head.seq),
        "head_signed_at": head.as_ref().map(|head| head.signed_at),
        "newest_seq": audit::newest(&state.store).await?,
        "head_file": aside.file_name().and_then(|name| name.to_str()),
    });
    let mut record = AuditRecord::new(state.clock.now(), AuditEvent::AuditLossAccepted);
    record.actor = ActorId::Cli;
    "command line".clone_into(&mut record.actor_name);
    record.detail = detail.to_string();
    state.audit.append(record).await?;
    fs::rename(&file, &aside).with_context(|| format!("cannot move {}", file.display()))?;
    tracing::warn!(%missing, kept = %aside.display(), "serving without the records that were lost, as accepted");
    Ok(())
}

/// The records that the head names and the trail lacks, in words; `None` if there are none.
async fn describe_missing(state: &State, head: &Checkpoint) -> Result<Option<String>> {
    let found = audit::find_head(&state.store, &state.audit_keys, head).await?;
    Ok(describe_match(found, head))
}

/// A comparison in words; `None` if nothing is missing.
pub fn describe_match(found: HeadMatch, head: &Checkpoint) -> Option<String> {
    let seq = head.seq;
    Some(match found {
        HeadMatch::Found => return None,
        HeadMatch::Missing { newest } => {
            format!("it names record {seq} of the audit trail, but the newest record is {newest}")
        }
        HeadMatch::Differs => format!("record {seq} of the audit trail is not the one that it names"),
        HeadMatch::Foreign => "it was signed by the keys of another database".to_owned(),
    })
}

/// A name for a file put aside: nothing has it yet.
fn free_name(file: &Path) -> PathBuf {
    let numbered = |number: u32| file.with_extension(format!("json.lost-{number}"));
    (1..10_000).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| numbered(0))
}
