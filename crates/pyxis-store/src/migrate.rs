//! Schema migrations. Both engines use the same file names, which are applied in order and never changed afterwards.

use std::time::Duration;

use pyxis_core::hex;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::db::sqlite::{self, Session};
use crate::db::{self, Backend, sql};
use crate::stamps::nullifiers;
use crate::{Engine, Executor, Store, StoreError};

pub(crate) struct Migration {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        }
    };
}

const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_init"),
    migration!(2, "0002_scoring"),
    migration!(3, "0003_verification"),
    migration!(4, "0004_signing"),
    migration!(5, "0005_people"),
    migration!(6, "0006_delivery"),
    migration!(7, "0007_models"),
    migration!(10, "0010_votes"),
    migration!(12, "0012_activity_state"),
    migration!(13, "0013_block_clocks"),
    migration!(14, "0014_activity_parties"),
    migration!(15, "0015_activity_signs"),
    migration!(16, "0016_stamp_digests"),
    migration!(17, "0017_score_places"),
    migration!(18, "0018_claim_providers"),
    migration!(19, "0019_usage_reservations"),
    migration!(20, "0020_packed_credentials"),
    migration!(21, "0021_nullifier_keys"),
    migration!(22, "0022_digest_parts"),
    migration!(23, "0023_nullifier_sets"),
    migration!(24, "0024_issuer_keys"),
    migration!(25, "0025_max_pending"),
    migration!(26, "0026_granted_scope"),
    migration!(27, "0027_deliveries_in_order"),
    migration!(28, "0028_unreachable"),
    migration!(29, "0029_no_usage_reservations"),
    migration!(30, "0030_undelivered"),
    migration!(31, "0031_connections"),
    migration!(32, "0032_mcp"),
    migration!(33, "0033_kept_bytes"),
    migration!(34, "0034_settled_seq"),
    migration!(41, "0041_score_keys"),
];

/// Held on PostgreSQL while migrating, so that nodes that start together do not collide.
const ADVISORY_LOCK: i64 = 0x7079_7869_735f_6d67;

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations \
    (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";
const RECORD: &str = "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)";
const APPLIED: &str = "SELECT version, checksum FROM schema_migrations ORDER BY version";
/// Version string of a PostgreSQL server.
const SERVER: &str =
    "SELECT current_setting('server_version'), CAST(current_setting('server_version_num') AS BIGINT)";
/// Oldest supported PostgreSQL version, as `server_version_num`.
const OLDEST_POSTGRES: i64 = 130_000;

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

    fn record(&self, engine: Engine) -> db::SqlQuery {
        sql(RECORD).bind(self.version).bind(self.name).bind(self.checksum(engine))
    }
}

/// Schema version that this program needs.
pub(crate) fn latest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Maximum wait for another process that migrates, since a large database takes long.
const PATIENCE: Duration = Duration::from_hours(1);

/// Applies missing migrations in one transaction. Returns the resulting version.
pub(crate) async fn run(store: &Store) -> Result<i64, StoreError> {
    let deadline = Instant::now() + PATIENCE;
    match store.backend() {
        Backend::Sqlite(database) => {
            database.begin(deadline).await?.finish(sqlite::session(run_sqlite)).await?;
        }
        Backend::Postgres(database) => {
            let transaction = database.begin(deadline).await?;
            recent_enough(transaction.optional(&sql(SERVER)).await?)?;
            transaction.execute(&sql("SELECT pg_advisory_xact_lock($1)").bind(ADVISORY_LOCK)).await?;
            transaction.batch(CREATE_TABLE).await?;
            for migration in missing(&transaction.all(&sql(APPLIED)).await?, Engine::Postgres)? {
                transaction.batch(migration.postgres).await?;
                transaction.execute(&migration.record(Engine::Postgres)).await?;
            }
            transaction.commit(&[]).await?;
        }
    }
    Ok(latest())
}

/// Refuses a PostgreSQL server that is older than the tested versions.
fn recent_enough(server: Option<(String, i64)>) -> Result<(), StoreError> {
    let (name, version) = server.ok_or(StoreError::Aborted)?;
    if version >= OLDEST_POSTGRES {
        return Ok(());
    }
    Err(StoreError::Schema(format!("the server is PostgreSQL {name}, which is too old: use 13 or newer")))
}

fn run_sqlite(session: &Session<'_>) -> Result<(), StoreError> {
    session.batch(CREATE_TABLE)?;
    define_functions(session.connection()).map_err(sqlite::failure)?;
    for migration in missing(&session.all(&sql(APPLIED))?, Engine::Sqlite)? {
        session.batch(migration.sqlite)?;
        session.execute(&migration.record(Engine::Sqlite))?;
    }
    Ok(())
}

/// Defines functions that migrations need and SQLite lacks. They return NULL for damaged text.
fn define_functions(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_scalar_function("nullifier_key", 2, FunctionFlags::default(), |arguments| {
        let text = |index| arguments.get_raw(index).as_str().ok();
        Ok(text(0).zip(text(1)).map(|(workspace, nullifier)| nullifiers::key(workspace, nullifier)))
    })
}

/// Schema version of the database, 0 if empty. An error if this program does not know it.
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
    let applied: Vec<(i64, String)> = store.all(sql(APPLIED)).await?;
    missing(&applied, store.engine())?;
    Ok(applied.last().map_or(0, |(version, _)| *version))
}

/// Migrations not applied yet. The applied ones must be known to this program.
pub(crate) fn missing(applied: &[(i64, String)], engine: Engine) -> Result<&'static [Migration], StoreError> {
    for (index, (version, checksum)) in applied.iter().enumerate() {
        let Some(known) = MIGRATIONS.get(index).filter(|known| known.version == *version) else {
            return Err(StoreError::Schema(format!(
                "the database has migration {version}, which this version of Pyxis does not know: use a newer version"
            )));
        };
        if known.checksum(engine) != *checksum {
            return Err(StoreError::Schema(format!(
                "migration {} was applied in another form; use the version of Pyxis that applied it",
                known.name
            )));
        }
    }
    Ok(&MIGRATIONS[applied.len()..])
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
