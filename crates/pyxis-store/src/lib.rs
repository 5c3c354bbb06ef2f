//! Database access for SQLite and PostgreSQL behind one query layer. No other crate contains SQL.
//!
//! Modules are plural aggregates, and functions are verbs on them. Every function takes an executor first (`&Store` for
//! a single statement, `&mut Tx` inside a transaction) and, with few exceptions, the workspace second. No query can
//! therefore reach another workspace's rows.

mod db;
mod error;
mod event;
mod locks;
mod migrate;
mod page;
#[cfg(test)]
mod plans;
mod url;
mod watch;

pub mod access_tokens;
pub mod activity;
mod actor_id;
pub mod addresses;
pub mod agents;
pub mod announcements;
pub mod anonymous_limits;
pub mod api_keys;
pub mod approvals;
pub mod attestation_keys;
pub mod audit;
pub mod backup;
pub mod block_clocks;
pub mod blocklist;
pub mod brands;
pub mod catalogue;
pub mod ceremonies;
pub mod chat_identities;
pub mod chat_messages;
pub mod cipher;
pub mod claims;
pub mod connections;
pub mod credentials;
pub mod deliveries;
pub mod erasures;
pub mod escalation_steps;
pub mod generations;
pub mod grants;
pub mod history_requests;
pub mod home;
pub mod idempotency;
pub mod installation_state;
pub mod integrity;
pub mod issued_stamps;
pub mod issuers;
pub mod kept_responses;
pub mod leases;
pub mod limits;
pub mod listed_addresses;
pub mod lists;
pub mod mcp_tools;
pub mod member_rights;
pub mod message_subject;
pub mod meta;
pub mod models;
pub mod nodes;
pub mod nullifier_sets;
pub mod oauth_tokens;
pub mod outbox;
pub mod own_stamps;
pub mod passkeys;
pub mod policies;
pub mod promotions;
pub mod proof_issuers;
pub mod proof_log;
pub mod proofs;
pub mod publishable_keys;
pub mod push;
pub mod quiet_hours;
pub mod receipt_keys;
pub mod revocations;
pub mod score_history;
pub mod score_jobs;
pub mod score_keys;
pub mod score_reviews;
pub mod scorer_changes;
pub mod scorers;
pub mod scores;
pub mod sessions;
pub mod sign_in_links;
pub mod staged_policies;
pub mod stamp_keys;
pub mod stamps;
mod store_metrics;
mod stored_name;
pub mod tasks;
pub mod undelivered;
pub mod usage;
pub mod users;
pub mod votes;
pub mod webhooks;
pub mod widget_sessions;
pub mod workspaces;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use tokio::sync::broadcast;
use tokio::time::Instant;

use db::Backend;
pub use db::postgres::long_work;
pub use db::{Committing, Executor, Tx, normalize_name};
pub use error::{NO_NUL, StoreError};
pub use event::StoreEvent;
pub use page::Page;
pub use pyxis_sqlite::release_idle_reads;
pub use store_metrics::PoolState;
pub use stored_name::{ClosedSet, StoredName};
pub use url::DatabaseUrl;

/// Events by which a slow subscriber may lag before it is told that it missed some.
const EVENT_BUFFER: usize = 1024;

/// Maximum wait for a busy database, unless [`OpenOptions::patience`] is set.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time of a statement on PostgreSQL, unless [`OpenOptions::statement`] is set.
const STATEMENT: Duration = Duration::from_secs(10);

/// Release of this program.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Options for opening a database.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Location of the database.
    pub url: DatabaseUrl,
    /// SQLite: number of connections for point reads.
    pub readers: usize,
    /// PostgreSQL: maximum number of connections.
    pub pool_size: usize,
    /// PostgreSQL: trusted certificates in addition to the public roots, as PEM.
    pub extra_roots_pem: Option<Vec<u8>>,
    /// Maximum wait of one operation for a connection, the writer and locks together. After that it fails with
    /// [`StoreError::Unavailable`] without any effect.
    pub patience: Duration,
    /// PostgreSQL: maximum time for opening a connection, and for which the server's machine may not acknowledge data.
    pub connect: Duration,
    /// PostgreSQL: maximum time of one statement, and of a transaction's pause between two. See [`long_work`].
    pub statement: Duration,
}

impl OpenOptions {
    /// Defaults: one reader per core up to 16, 16 connections, public roots, five seconds, ten for a statement.
    pub fn new(url: DatabaseUrl) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            url,
            readers: cores.min(16),
            pool_size: 16,
            extra_roots_pem: None,
            patience: BUSY_TIMEOUT,
            connect: BUSY_TIMEOUT,
            statement: STATEMENT,
        }
    }
}

/// Engine of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
}

/// An open database. Clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<OpenDatabase>,
}

struct OpenDatabase {
    backend: Backend,
    events: broadcast::Sender<StoreEvent>,
    watched: AtomicBool,
    heads: scores::KeyCache,
    /// Timeline of the server that is stored, 0 if unknown.
    timeline: AtomicI64,
    /// True once a newer release changed the database so that this program may no longer use it.
    outdated: AtomicBool,
    patience: Duration,
}

impl Store {
    /// Opens the database. Creates a missing SQLite file, readable by its owner only. A PostgreSQL server is not
    /// contacted before the first statement.
    pub fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let backend = match (options.url.sqlite_path(), options.url.postgres()?) {
            (Some(path), _) => Backend::Sqlite(Box::new(pyxis_sqlite::Database::open_observed(
                path,
                options.readers,
                options.patience,
                &(Arc::new(store_metrics::DiskMetrics) as Arc<dyn pyxis_sqlite::DiskObserver>),
            )?)),
            (None, Some(config)) => {
                let tls = url::tls(options.extra_roots_pem.as_deref())?;
                let OpenOptions { patience, connect, statement, .. } = *options;
                let limits = db::postgres::Limits { patience, connect, statement };
                Backend::Postgres(Box::new(db::postgres::PostgresDatabase::open(
                    &config,
                    tls,
                    options.pool_size,
                    limits,
                )?))
            }
            (None, None) => return Err(StoreError::Address("no database named")),
        };
        let inner = OpenDatabase {
            backend,
            events: broadcast::channel(EVENT_BUFFER).0,
            watched: AtomicBool::new(false),
            heads: scores::KeyCache::default(),
            timeline: AtomicI64::new(0),
            outdated: AtomicBool::new(false),
            patience: options.patience,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Closes the database and waits for completion if this is the last clone; otherwise only drops this clone. All
    /// transactions must have ended.
    pub async fn close(self) -> Result<(), StoreError> {
        match Arc::into_inner(self.inner).map(|inner| inner.backend) {
            Some(Backend::Sqlite(database)) => {
                tokio::task::spawn_blocking(move || database.close()).await.map_err(StoreError::unavailable)
            }
            Some(Backend::Postgres(_)) | None => Ok(()),
        }
    }

    /// Applies the migrations that this program knows and the database lacks. Returns the resulting schema level, which
    /// is higher than this program's if a newer release of the same minor release uses the database. Safe to call from
    /// several processes concurrently. Every registered node counts as running.
    pub async fn migrate(&self) -> Result<i64, StoreError> {
        self.migrate_program(migrate::THIS, UnixMillis(0)).await
    }

    /// Like [`migrate`](Self::migrate). Nodes without a heartbeat for [`nodes::DEAD_AFTER`] do not count as running.
    pub async fn migrate_at(&self, now: UnixMillis) -> Result<i64, StoreError> {
        self.migrate_program(migrate::THIS, now.minus(nodes::DEAD_AFTER)).await
    }

    pub(crate) async fn migrate_program(
        &self,
        program: migrate::Program,
        alive_since: UnixMillis,
    ) -> Result<i64, StoreError> {
        self.check_sessions().await?;
        Box::pin(long_work(async {
            let level = migrate::run(self, program, alive_since).await?;
            nullifier_sets::read_stored(self).await?;
            Ok(level)
        }))
        .await
    }

    /// Refuses a PostgreSQL address that leads to a pooler in transaction mode, where nothing works reliably.
    pub async fn check_sessions(&self) -> Result<(), StoreError> {
        match self.backend() {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(database) => database.refuse_shared_processes().await,
        }
    }

    /// Schema level of the database, 0 if empty.
    pub async fn schema_version(&self) -> Result<i64, StoreError> {
        migrate::version(self).await
    }

    /// Schema level of this program: the newest migration that it knows.
    pub fn wanted_schema_version() -> i64 {
        migrate::THIS.level()
    }

    /// Engine of this store.
    pub fn engine(&self) -> Engine {
        match self.inner.backend {
            Backend::Sqlite(_) => Engine::Sqlite,
            Backend::Postgres(_) => Engine::Postgres,
        }
    }

    /// Succeeds if the database answers on a connection of every pool, and writes can still be made durable.
    pub async fn ping(&self) -> Result<(), StoreError> {
        match self.usable()? {
            Backend::Sqlite(database) => {
                database.check_writable()?;
                self.optional::<(i64,)>(db::sql("SELECT CAST(1 AS BIGINT)")).await.map(drop)
            }
            Backend::Postgres(database) => database.ping().await,
        }
    }

    /// False if the last use of the database got no answer. Asks nothing.
    pub fn is_answering(&self) -> bool {
        match self.backend() {
            Backend::Sqlite(_) => true,
            Backend::Postgres(database) => database.server().is_answering(),
        }
    }

    /// Starts a transaction. On SQLite it uses the only writer exclusively, so keep it short.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        self.begin_by(self.deadline()).await
    }

    /// Like [`begin`](Self::begin), for a caller that has already waited.
    pub(crate) async fn begin_by(&self, deadline: Instant) -> Result<Tx, StoreError> {
        let bus = self.inner.events.clone();
        match self.usable()? {
            Backend::Sqlite(database) => Ok(Tx::sqlite(database.begin(deadline).await?, bus)),
            Backend::Postgres(database) => Ok(Tx::postgres(database.begin(deadline).await?, bus)),
        }
    }

    /// Deadline of an operation that starts to wait now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.inner.patience
    }

    /// Announces millions of writes. SQLite's log may then grow to 512 MiB before a checkpoint, and to 2 GiB
    /// during one. So frequently changed pages are moved less often. The writer's cache grows, too.
    pub async fn begin_bulk_load(&self) -> Result<(), StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(database) => Ok(database.begin_bulk_load().await?),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Announces the end of a bulk load. SQLite's log is moved into the file and its space freed, or another process
    /// that uses the database does so later. The higher limits of the log remain.
    pub async fn end_bulk_load(&self) {
        if let Backend::Sqlite(database) = &self.inner.backend {
            database.end_bulk_load().await;
        }
    }

    /// Events from now on. On PostgreSQL, and for events of other processes, call [`Store::watch`] first.
    pub fn subscribe(&self) -> broadcast::Receiver<StoreEvent> {
        self.inner.events.subscribe()
    }

    /// Starts the background task that notices commits of other processes, unless it is running. It ends with the last
    /// clone of the store.
    pub fn watch(&self) {
        watch::watch(&self.inner);
    }

    /// The backend, unless a newer release made this program outdated.
    pub(crate) fn usable(&self) -> Result<&Backend, StoreError> {
        if self.inner.outdated.load(Ordering::Acquire) {
            return Err(StoreError::unavailable(error::Outdated));
        }
        Ok(&self.inner.backend)
    }

    /// Ends every use of the database by this program.
    pub(crate) fn set_outdated(&self) {
        self.inner.outdated.store(true, Ordering::Release);
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    pub(crate) fn timeline(&self) -> &AtomicI64 {
        &self.inner.timeline
    }

    pub(crate) fn key_cache(&self) -> &scores::KeyCache {
        &self.inner.heads
    }
}
