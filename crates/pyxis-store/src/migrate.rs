//! Schema migrations. Both engines use the same file names, which are applied in order and never changed afterwards.
//!
//! The number of the newest migration that a program knows is its *schema level*. `docs/guides/upgrade.md` says which
//! levels work on one database at the same time; [`compatibility`] holds the rule.

#[cfg(test)]
mod additive;
pub(crate) mod compatibility;
#[cfg(test)]
mod releases;

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use self::compatibility::{Applied, SINCE};
use crate::db::postgres::Transaction;
use crate::db::sqlite::{self, Session};
use crate::db::{self, Backend, sql};
use crate::stamps::nullifiers;
use crate::{Engine, Executor, RELEASE, Store, StoreError};

/// Effect of a migration on programs that do not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// They go on reading and writing as before.
    Additive,
    /// They may no longer use the database.
    Breaking,
}

#[derive(Clone, Copy)]
pub(crate) struct Migration {
    version: i64,
    name: &'static str,
    effect: Effect,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal, $effect:ident) => {
        Migration {
            version: $version,
            name: $name,
            effect: Effect::$effect,
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        }
    };
}

/// Every migration. The ones up to the first release count as breaking: no released program lacks them.
const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_init", Breaking),
    migration!(2, "0002_scoring", Breaking),
    migration!(3, "0003_verification", Breaking),
    migration!(4, "0004_signing", Breaking),
    migration!(5, "0005_people", Breaking),
    migration!(6, "0006_delivery", Breaking),
    migration!(7, "0007_models", Breaking),
    migration!(10, "0010_votes", Breaking),
    migration!(12, "0012_activity_state", Breaking),
    migration!(13, "0013_block_clocks", Breaking),
    migration!(14, "0014_activity_parties", Breaking),
    migration!(15, "0015_activity_signs", Breaking),
    migration!(16, "0016_stamp_digests", Breaking),
    migration!(17, "0017_score_places", Breaking),
    migration!(18, "0018_claim_providers", Breaking),
    migration!(19, "0019_usage_reservations", Breaking),
    migration!(20, "0020_packed_credentials", Breaking),
    migration!(21, "0021_nullifier_keys", Breaking),
    migration!(22, "0022_digest_parts", Breaking),
    migration!(23, "0023_nullifier_sets", Breaking),
    migration!(24, "0024_issuer_keys", Breaking),
    migration!(25, "0025_max_pending", Breaking),
    migration!(26, "0026_granted_scope", Breaking),
    migration!(27, "0027_deliveries_in_order", Breaking),
    migration!(28, "0028_unreachable", Breaking),
    migration!(29, "0029_no_usage_reservations", Breaking),
    migration!(30, "0030_undelivered", Breaking),
    migration!(31, "0031_connections", Breaking),
    migration!(32, "0032_mcp", Breaking),
    migration!(33, "0033_kept_bytes", Breaking),
    migration!(34, "0034_settled_seq", Breaking),
    migration!(40, "0040_compatibility", Additive),
    migration!(41, "0041_score_keys", Additive),
    migration!(42, "0042_own_stamps", Additive),
    migration!(43, "0043_widget", Additive),
    migration!(44, "0044_score_jobs", Additive),
    migration!(45, "0045_change", Additive),
    migration!(46, "0046_block_handover", Additive),
    migration!(47, "0047_score_reviews", Additive),
    migration!(48, "0048_edited_requests", Additive),
    migration!(49, "0049_receipts", Additive),
    migration!(50, "0050_setup_dismissals", Additive),
    migration!(51, "0051_tasks", Additive),
    migration!(52, "0052_escalation", Additive),
    migration!(53, "0053_pending_by_age", Additive),
    migration!(54, "0054_task_messages", Additive),
    migration!(55, "0055_task_passkeys", Additive),
    migration!(56, "0056_listed_nullifiers", Additive),
    migration!(57, "0057_push_bursts", Additive),
];

/// Held on PostgreSQL while migrating, so that nodes that start together do not collide.
const ADVISORY_LOCK: i64 = 0x7079_7869_735f_6d67;

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations \
    (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";
/// Version string of a PostgreSQL server.
const SERVER: &str =
    "SELECT current_setting('server_version'), CAST(current_setting('server_version_num') AS BIGINT)";
/// Oldest supported PostgreSQL version, as `server_version_num`.
const OLDEST_POSTGRES: i64 = 130_000;
/// Maximum wait for another process that migrates, since a large database takes long.
const MAX_WAIT: Duration = Duration::from_hours(1);
/// Maximum wait for the lock of one table. Requests of other nodes on this table wait as well.
const TABLE_PATIENCE: &str = "SET LOCAL lock_timeout = 2000";
/// Attempts to get the locks of all tables, about a second apart.
const ATTEMPTS: u32 = 30;

impl Migration {
    const fn text(&self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
    }

    fn checksum(&self, engine: Engine) -> String {
        hex::encode(&Sha256::digest(self.text(engine)))
    }
}

/// The migrations that a program knows.
#[derive(Clone, Copy)]
pub(crate) struct Program(&'static [Migration]);

pub(crate) const THIS: Program = Program(MIGRATIONS);

impl Program {
    /// The schema level.
    pub(crate) fn level(self) -> i64 {
        self.0.last().map_or(0, |migration| migration.version)
    }

    /// The oldest level that may use the database once `version` is applied.
    fn readable_from(self, version: i64) -> i64 {
        let until = self.0.iter().take_while(|migration| migration.version <= version);
        until.filter(|m| m.effect == Effect::Breaking).last().map_or(0, |migration| migration.version)
    }

    fn record(self, migration: &Migration, engine: Engine) -> db::SqlQuery {
        let query = if migration.version < SINCE {
            sql("INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)")
        } else {
            sql("INSERT INTO schema_migrations (version, name, checksum, readable_from, release) \
                 VALUES ($1, $2, $3, $4, $5)")
        };
        let query = query.bind(migration.version).bind(migration.name).bind(migration.checksum(engine));
        if migration.version < SINCE {
            return query;
        }
        query.bind(self.readable_from(migration.version)).bind(RELEASE)
    }

    /// Migrations not applied yet. An error if this program may not use the database.
    pub(crate) fn missing(
        self,
        applied: &[Applied],
        engine: Engine,
    ) -> Result<&'static [Migration], StoreError> {
        for (applied, known) in applied.iter().zip(self.0) {
            if applied.version != known.version {
                return Err(applied.unknown());
            }
            if known.checksum(engine) != applied.checksum {
                return Err(StoreError::Schema(format!(
                    "migration {} was applied in another form; use the version of Pyxis that applied it",
                    known.name
                )));
            }
        }
        compatibility::allow(applied.get(self.0.len()..).unwrap_or_default(), self.level())?;
        Ok(self.0.get(applied.len()..).unwrap_or_default())
    }
}

/// Applies missing migrations in one transaction. Returns the resulting level. Refuses breaking ones while nodes of an
/// older level have sent a heartbeat at or after `alive_since`.
pub(crate) async fn run(store: &Store, program: Program, alive_since: UnixMillis) -> Result<i64, StoreError> {
    let deadline = Instant::now() + MAX_WAIT;
    let mut attempts = 1;
    loop {
        match attempt(store, program, alive_since, deadline).await {
            Err(error)
                if attempts < ATTEMPTS
                    && Instant::now() < deadline
                    && (error.is_contended() || error.is_busy()) =>
            {
                tracing::info!(%error, "a table is in use; migrating it again in a second");
                tokio::time::sleep(Duration::from_secs(1)).await;
                attempts += 1;
            }
            done => return done,
        }
    }
}

async fn attempt(
    store: &Store,
    program: Program,
    alive_since: UnixMillis,
    deadline: Instant,
) -> Result<i64, StoreError> {
    match store.backend() {
        Backend::Sqlite(database) => {
            let work = move |session: &Session<'_>| run_sqlite(session, program, alive_since);
            database.begin(deadline).await?.finish(sqlite::session(work)).await
        }
        Backend::Postgres(database) => {
            let transaction = database.begin(deadline).await?;
            recent_enough(transaction.optional(&sql(SERVER)).await?)?;
            transaction.execute(&sql("SELECT pg_advisory_xact_lock($1)").bind(ADVISORY_LOCK)).await?;
            let level = run_postgres(&transaction, program, alive_since).await?;
            transaction.commit(&[]).await?;
            Ok(level)
        }
    }
}

async fn run_postgres(
    transaction: &Transaction,
    program: Program,
    alive_since: UnixMillis,
) -> Result<i64, StoreError> {
    transaction.batch(CREATE_TABLE).await?;
    let newest = transaction.optional(&sql(compatibility::NEWEST)).await?;
    let applied = transaction.all(&sql(compatibility::applied(newest))).await?;
    let missing = program.missing(&applied, Engine::Postgres)?;
    if !missing.is_empty() {
        transaction.batch(TABLE_PATIENCE).await?;
    }
    if let Some(breaking) = compatibility::breaking(missing, &applied) {
        // No heartbeat in between: a node is seen here, or sees the migration.
        transaction.batch("LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE").await?;
        let query = compatibility::running(newest, breaking.version, alive_since);
        breaking.refuse_beside(&transaction.all(&query).await?)?;
    }
    for migration in missing {
        transaction.batch(migration.postgres).await?;
        transaction.execute(&program.record(migration, Engine::Postgres)).await?;
    }
    Ok(level(&applied, program))
}

fn run_sqlite(session: &Session<'_>, program: Program, alive_since: UnixMillis) -> Result<i64, StoreError> {
    session.batch(CREATE_TABLE)?;
    define_functions(session.connection()).map_err(sqlite::failure)?;
    let newest = session.optional(&sql(compatibility::NEWEST))?;
    let applied = session.all(&sql(compatibility::applied(newest)))?;
    let missing = program.missing(&applied, Engine::Sqlite)?;
    if let Some(breaking) = compatibility::breaking(missing, &applied) {
        let query = compatibility::running(newest, breaking.version, alive_since);
        breaking.refuse_beside(&session.all(&query)?)?;
    }
    for migration in missing {
        session.batch(migration.sqlite)?;
        session.execute(&program.record(migration, Engine::Sqlite))?;
    }
    Ok(level(&applied, program))
}

/// Level of a database after `program` applied what was missing.
fn level(applied: &[Applied], program: Program) -> i64 {
    applied.last().map_or(0, |newest| newest.version).max(program.level())
}

/// Refuses a PostgreSQL server that is older than the tested versions.
fn recent_enough(server: Option<(String, i64)>) -> Result<(), StoreError> {
    let (name, version) = server.ok_or(StoreError::Aborted)?;
    if version >= OLDEST_POSTGRES {
        return Ok(());
    }
    Err(StoreError::Schema(format!("the server is PostgreSQL {name}, which is too old: use 13 or newer")))
}

/// Defines functions that migrations need and SQLite lacks. They return NULL for damaged text.
fn define_functions(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_scalar_function("nullifier_key", 2, FunctionFlags::default(), |arguments| {
        let text = |index| arguments.get_raw(index).as_str().ok();
        Ok(text(0).zip(text(1)).map(|(workspace, nullifier)| nullifiers::key(workspace, nullifier)))
    })
}

/// Level of the database, 0 if empty. An error if this program may not use it.
pub(crate) async fn version(store: &Store) -> Result<i64, StoreError> {
    let exists = match store.engine() {
        Engine::Sqlite => sql("SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'"),
        Engine::Postgres => sql("SELECT count(*) FROM information_schema.tables \
                 WHERE table_schema = current_schema() AND table_name = 'schema_migrations'"),
    };
    if store.engine() == Engine::Postgres {
        recent_enough(store.optional(sql(SERVER)).await?)?;
    }
    if store.optional::<(i64,)>(exists).await? == Some((0,)) {
        return Ok(0);
    }
    let newest = store.optional(sql(compatibility::NEWEST)).await?;
    let applied: Vec<Applied> = store.all(sql(compatibility::applied(newest))).await?;
    THIS.missing(&applied, store.engine())?;
    Ok(applied.last().map_or(0, |newest| newest.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgresql_13_is_the_oldest_that_is_served() {
        assert!(recent_enough(Some(("13.0".to_owned(), 130_000))).is_ok());
        let refused = recent_enough(Some(("12.22".to_owned(), 120_022))).unwrap_err().to_string();
        assert!(refused.contains("PostgreSQL 12.22") && refused.contains("use 13 or newer"), "{refused}");
    }
}
