//! Backup and restore. A backup is always a SQLite file with the same schema, whatever the engine. Restoring one is
//! therefore also the way to move between SQLite and PostgreSQL.
//!
//! A backup is checked under a temporary name ([`partial`]) before it gets its own. Neither a damaged page nor a kill
//! leaves anything under that name.

mod copy;
mod copy_check;
mod partial;

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use self::partial::Partial;
use crate::db::sqlite::{self, Session};
use crate::db::{Backend, sql};
use crate::migrate::compatibility;
use crate::{DatabaseUrl, Executor, OpenOptions, RELEASE, Store, StoreError, Tx};

pub use copy_check::TrailCheck;
pub use partial::remove_leftovers;

/// All tables to copy, each after the tables that it references. `nodes` and `leases` are left out because they
/// describe running processes.
pub const TABLES: &[&str] = &[
    "meta",
    "generations",
    "data_keys",
    "workspaces",
    "users",
    "sign_in_links",
    "sessions",
    "credentials",
    "oauth_tokens",
    "oauth_connections",
    "agents",
    "agent_credentials",
    "connection_clients",
    "authorization_codes",
    "agent_connections",
    "connection_tokens",
    "policies",
    "grants",
    "tasks",
    "task_actions",
    "task_messages",
    "task_announcements",
    "approvals",
    "approval_bodies",
    "undelivered_outcomes",
    "kept_responses",
    "mcp_tools",
    "votes",
    "member_rights",
    "access_tokens",
    "staged_policies",
    "passkeys",
    "ceremonies",
    "webhooks",
    "deliveries",
    "chat_messages",
    "chat_identities",
    "chat_link_codes",
    "chat_defaults",
    "chat_cursors",
    "escalation_steps",
    "announcements",
    "quiet_hours",
    "setup_dismissals",
    "push_subscriptions",
    "push_messages",
    "brands",
    "idempotency",
    "rate_windows",
    "scorers",
    "scorer_weights",
    "kept_weights",
    "scorer_changes",
    "api_keys",
    "history_requests",
    "usage_windows",
    "issuers",
    "platforms",
    "holders",
    "stamps",
    "stamp_credentials",
    "stamp_nullifiers",
    "nullifier_sets",
    "tied_nullifiers",
    "revocations",
    "proof_digests",
    "claims",
    "scores",
    "score_history",
    "score_jobs",
    "score_job_chunks",
    "score_reviews",
    "activity_imports",
    "activity_chunks",
    "activity_wallets",
    "activity_parties",
    "activity_state",
    "model_bundles",
    "model_serves",
    "suspect_groups",
    "block_clocks",
    "proof_issuers",
    "proofs",
    "nullifier_holders",
    "blocked_subjects",
    "proof_log",
    "proof_statements",
    "attestation_keys",
    "score_keys",
    "receipt_keys",
    "stamp_keys",
    "own_stamps",
    "listed_addresses",
    "issued_stamps",
    "publishable_keys",
    "publishable_origins",
    "widget_nonces",
    "widget_sessions",
    "erasures",
    "visits",
    "audit_records",
    "audit_head",
    "audit_checkpoints",
    "audit_tiles",
];

/// Tables with engine-generated ids. After a restore the sequence continues after the highest id.
const NUMBERED: &[&str] =
    &["scorers", "stamps", "nullifier_sets", "proofs", "blocked_subjects", "proof_log", "attestation_keys"];

/// Pages copied between two progress reports.
const PAGES: i32 = 1024;

/// Progress of a backup or restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// Amount done: pages for a SQLite file, otherwise rows.
    pub done: u64,
    /// Total amount, if known.
    pub total: Option<u64>,
}

/// Writes a consistent backup while the database is in use. The file must not exist; it appears once it is complete,
/// checked and durable. `trail` also checks the audit trail in it, and returns its number of records.
pub async fn write(
    store: &Store,
    path: &Path,
    trail: Option<TrailCheck<'_>>,
    mut progress: impl FnMut(BackupProgress) + Send + 'static,
) -> Result<Option<i64>, StoreError> {
    if path.exists() {
        return Err(StoreError::Backup(format!("{} already exists; choose a new file name", path.display())));
    }
    let partial = Partial::create(path)?;
    let copy = partial.path().to_owned();
    match store.backend() {
        Backend::Sqlite(database) => {
            let (from, to) = (database.path().to_owned(), copy.clone());
            blocking(move || write_pages(&from, &to, &mut progress)).await?;
        }
        Backend::Postgres(database) => {
            refuse_newer(store.schema_version().await?)?;
            let source = database.begin(store.deadline()).await?;
            let snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
            source.batch(snapshot).await?;
            let target = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(&copy)))?;
            target.migrate().await?;
            let mut tx = target.begin().await?;
            clear(&mut tx).await?;
            copy::from_postgres(&source, &mut tx, &mut progress).await?;
            tx.commit().await?;
            target.close().await?;
        }
    }
    let file = copy.clone();
    blocking(move || copy_check::pages(&file)).await?;
    let records = match trail {
        Some(check) => Some(check.run(&copy).await?),
        None => None,
    };
    let target = path.to_owned();
    blocking(move || {
        make_single_file(pyxis_sqlite::connect_plain(&copy)?)?;
        partial.publish(&target)
    })
    .await?;
    Ok(records)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(StoreError::unavailable)?
}

/// Restores a backup, in one transaction, into a migrated and otherwise empty database.
pub async fn restore(
    store: &Store,
    path: &Path,
    mut progress: impl FnMut(BackupProgress) + Send + 'static,
) -> Result<(), StoreError> {
    let file = path.to_owned();
    tokio::task::spawn_blocking(move || check_file(&file)).await.map_err(StoreError::unavailable)??;
    let level = store.schema_version().await?;
    refuse_newer(level)?;
    if level != Store::wanted_schema_version() {
        return Err(StoreError::Backup("run pyxis migrate before restoring into this database".to_owned()));
    }
    let generation = crate::generations::read(store).await?;
    let mut tx = store.begin().await?;
    refuse_unless_empty(&mut tx).await?;
    clear(&mut tx).await?;
    copy::from_sqlite(path, &mut tx, &mut progress).await?;
    // No cache from before may appear to be current.
    let raise = sql("UPDATE generations SET value = CASE WHEN value > $1 THEN value ELSE $1 END + 1");
    (&mut tx).execute(raise.bind(generation)).await?;
    if tx.is_sqlite() {
        (&mut tx).execute(sql(crate::scores::SETTLE)).await?;
    } else {
        for table in NUMBERED {
            let next = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', 'id'), \
                 coalesce((SELECT max(id) FROM {table}), 0) + 1, false)"
            );
            (&mut tx).optional::<(i64,)>(crate::db::SqlQuery::assembled(next)).await?;
        }
    }
    tx.commit().await
}

/// Refuses a database with columns or tables that this program would leave out of a copy.
fn refuse_newer(level: i64) -> Result<(), StoreError> {
    let known = Store::wanted_schema_version();
    if level <= known {
        return Ok(());
    }
    Err(StoreError::Backup(format!(
        "a newer release added to this database (schema level {level}; release {RELEASE} knows {known}); use the newest \
         release that runs on it, so that nothing is left out"
    )))
}

fn write_pages(from: &Path, to: &Path, progress: &mut impl FnMut(BackupProgress)) -> Result<(), StoreError> {
    let source = pyxis_sqlite::connect(from)?;
    let mut target = pyxis_sqlite::connect_plain(to)?;
    // An open snapshot: commits by others do not appear in the copy and do not restart it.
    source.execute_batch("BEGIN; SELECT count(*) FROM meta;").map_err(|error| not_copied(&error))?;
    let backup = rusqlite::backup::Backup::new(&source, &mut target).map_err(|error| not_copied(&error))?;
    loop {
        let step = backup.step(PAGES).map_err(|error| not_copied(&error))?;
        let pages = backup.progress();
        let total = u64::try_from(pages.pagecount).unwrap_or(0);
        let done = total.saturating_sub(u64::try_from(pages.remaining).unwrap_or(0));
        progress(BackupProgress { done, total: Some(total) });
        if step == rusqlite::backup::StepResult::Done {
            return Ok(());
        }
    }
}

fn not_copied(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(&error.to_string()),
        Some(ErrorCode::DiskFull) => StoreError::Backup(
            "the disk is full; no backup was written. Free space, and try again".to_owned(),
        ),
        _ => StoreError::Backup(format!(
            "cannot copy the database: {error}; no backup was written. Check the disks of the database and of the \
             backup"
        )),
    }
}

/// The error of a database in which `damage` was found.
fn damaged(damage: &str) -> StoreError {
    StoreError::Backup(format!(
        "the database is damaged: {damage}; no backup was written. Keep the earlier backups, and restore the newest \
         one on a healthy disk"
    ))
}

/// Removes the write-ahead log, so that the backup is a single file.
fn make_single_file(connection: Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "journal_mode", "DELETE").map_err(|error| not_copied(&error))?;
    connection.close().map_err(|(_, error)| sqlite::failure(error))
}

/// Refuses files that are not intact backups with this schema version.
fn check_file(path: &Path) -> Result<(), StoreError> {
    let unreadable = |_| StoreError::Backup(format!("{} is not a readable backup", path.display()));
    let connection =
        rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(unreadable)?;
    let session = Session::new(&connection);
    let intact: Result<Option<(String,)>, StoreError> = session.optional(&sql("PRAGMA quick_check(1)"));
    if !matches!(intact, Ok(Some((answer,))) if answer == "ok") {
        return Err(StoreError::Backup(format!("{} is damaged or not a backup", path.display())));
    }
    let foreign = |_| StoreError::Backup(format!("{} is not a backup of this program", path.display()));
    let newest = session.optional(&sql(compatibility::NEWEST)).map_err(foreign)?;
    let applied: Vec<compatibility::Applied> =
        session.all(&sql(compatibility::applied(newest))).map_err(foreign)?;
    let wanted = Store::wanted_schema_version();
    let made_by = applied.last().and_then(|newest| newest.release.as_deref());
    match crate::migrate::THIS.missing(&applied, crate::Engine::Sqlite) {
        Ok([]) if applied.last().is_some_and(|newest| newest.version == wanted) => Ok(()),
        _ => Err(StoreError::Backup(format!(
            "the backup has schema level {}, and release {RELEASE} restores level {wanted}; restore it with {}",
            newest.map_or(0, |(version,)| version),
            made_by
                .map_or_else(|| "the version of Pyxis that made it".to_owned(), |it| format!("Pyxis {it}")),
        ))),
    }
}

async fn refuse_unless_empty(tx: &mut Tx) -> Result<(), StoreError> {
    for table in TABLES.iter().filter(|table| !matches!(**table, "generations" | "audit_head")) {
        let count = crate::db::SqlQuery::assembled(format!("SELECT count(*) FROM {table}"));
        if (&mut *tx).optional::<(i64,)>(count).await? != Some((0,)) {
            return Err(StoreError::Backup(format!("the database is not empty: {table} has rows")));
        }
    }
    Ok(())
}

/// Removes rows inserted by migrations.
async fn clear(tx: &mut Tx) -> Result<(), StoreError> {
    for table in TABLES.iter().rev() {
        (&mut *tx).execute(crate::db::SqlQuery::assembled(format!("DELETE FROM {table}"))).await?;
    }
    Ok(())
}
