//! The only crate that contains SQL: SQLite and PostgreSQL behind one query layer.
//!
//! Modules are plural aggregates and functions are verbs on them. Every function takes an executor
//! first (`&Store` for a single statement, `&mut Tx` inside a transaction) and, with few named
//! exceptions, the workspace second, so that no query can reach another workspace's rows.

mod db;
mod error;
mod event;
mod like;
mod locks;
mod migrate;
mod page;
#[cfg(test)]
mod plans;
mod url;
mod watch;

pub mod access_tokens;
pub mod activity;
pub mod addresses;
pub mod agents;
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
pub mod credentials;
pub mod deliveries;
pub mod generations;
pub mod grants;
pub mod history_requests;
pub mod idempotency;
pub mod issuers;
pub mod leases;
pub mod limits;
pub mod member_rights;
pub mod meta;
pub mod models;
pub mod nodes;
pub mod nullifier_sets;
pub mod oauth_tokens;
pub mod outbox;
pub mod passkeys;
pub mod policies;
pub mod proof_issuers;
pub mod proof_log;
pub mod proofs;
pub mod push;
pub mod revocations;
pub mod score_history;
pub mod scorers;
pub mod scores;
pub mod sessions;
pub mod sign_in_links;
pub mod staged_policies;
pub mod stamps;
pub mod usage;
pub mod users;
pub mod votes;
pub mod webhooks;
pub mod workspaces;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::Instant;

use db::Backend;
pub use db::sqlite::readers::release_idle_reads;
pub use db::{Committing, Executor, Tx, fold};
pub use error::StoreError;
pub use event::StoreEvent;
pub use page::Page;
pub use url::DatabaseUrl;

/// Events that a slow subscriber may be behind before it is told that it missed some.
const EVENT_BUFFER: usize = 1024;

/// Longest wait for the database while others keep it busy, unless [`OpenOptions::patience`] says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// How to open a database.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The database.
    pub url: DatabaseUrl,
    /// SQLite: connections for point reads.
    pub readers: usize,
    /// PostgreSQL: most connections.
    pub pool_size: usize,
    /// PostgreSQL: trusted certificates beside the public roots, as PEM.
    pub extra_roots_pem: Option<Vec<u8>>,
    /// Longest wait of one operation for its turn: for a connection, for the writer and for locks together. Then it
    /// fails with [`StoreError::Unavailable`], and nothing of it was done.
    pub patience: Duration,
}

impl OpenOptions {
    /// The defaults: a reader for each core up to 16, 16 connections, public roots, five seconds.
    pub fn new(url: DatabaseUrl) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { url, readers: cores.min(16), pool_size: 16, extra_roots_pem: None, patience: PATIENCE }
    }
}

/// The engine behind a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
}

/// An open database; a clone is the same one.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    events: broadcast::Sender<StoreEvent>,
    watched: AtomicBool,
    heads: scores::KeyCache,
    patience: Duration,
}

impl Store {
    /// Opens the database. A SQLite file is created when absent, readable by its owner only; a
    /// PostgreSQL server is first asked by the first statement.
    pub fn open(options: &OpenOptions) -> Result<Self, StoreError> {
        let backend = match (options.url.sqlite_path(), options.url.postgres()?) {
            (Some(path), _) => {
                Backend::Sqlite(db::sqlite::Database::open(path, options.readers, options.patience)?)
            }
            (None, Some(config)) => {
                let tls = url::tls(options.extra_roots_pem.as_deref())?;
                let (size, patience) = (options.pool_size, options.patience);
                Backend::Postgres(Box::new(db::postgres::Database::open(config, tls, size, patience)?))
            }
            (None, None) => return Err(StoreError::Address("no database named")),
        };
        let inner = Inner {
            backend,
            events: broadcast::channel(EVENT_BUFFER).0,
            watched: AtomicBool::new(false),
            heads: scores::KeyCache::default(),
            patience: options.patience,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Closes the database and waits until that is done, if this is the last clone; else it only drops
    /// this one. Transactions must have ended.
    pub async fn close(self) -> Result<(), StoreError> {
        match Arc::into_inner(self.inner).map(|inner| inner.backend) {
            Some(Backend::Sqlite(database)) => {
                tokio::task::spawn_blocking(move || database.close()).await.map_err(StoreError::unavailable)
            }
            Some(Backend::Postgres(_)) | None => Ok(()),
        }
    }

    /// Brings the schema to the version of this program; the version. Safe to call from several
    /// processes at once.
    pub async fn migrate(&self) -> Result<i64, StoreError> {
        let version = migrate::run(self).await?;
        nullifier_sets::read_stored(self).await?;
        Ok(version)
    }

    /// The schema version of the database, 0 when it is empty.
    pub async fn schema_version(&self) -> Result<i64, StoreError> {
        migrate::version(self).await
    }

    /// The schema version that this program needs.
    pub fn wanted_schema_version() -> i64 {
        migrate::latest()
    }

    /// The engine.
    pub fn engine(&self) -> Engine {
        match self.inner.backend {
            Backend::Sqlite(_) => Engine::Sqlite,
            Backend::Postgres(_) => Engine::Postgres,
        }
    }

    /// Whether the database answers, and what is written there can still be made durable.
    pub async fn ping(&self) -> Result<(), StoreError> {
        if let Backend::Sqlite(database) = &self.inner.backend {
            database.writer().works()?;
        }
        self.optional::<(i64,)>(db::sql("SELECT CAST(1 AS BIGINT)")).await.map(|_| ())
    }

    /// Starts a transaction. On SQLite it has the one writer for itself: keep it short.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        self.begin_by(self.deadline()).await
    }

    /// The same, where the caller has waited before.
    pub(crate) async fn begin_by(&self, deadline: Instant) -> Result<Tx, StoreError> {
        let bus = self.inner.events.clone();
        match &self.inner.backend {
            Backend::Sqlite(database) => Ok(Tx::sqlite(database.writer().begin(deadline).await?, bus)),
            Backend::Postgres(database) => Ok(Tx::postgres(database.begin(deadline).await?, bus)),
        }
    }

    /// Deadline of what begins to wait now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.inner.patience
    }

    /// Says that millions of rows come. SQLite's log may then be 512 MiB long before it is moved into the file, and
    /// 2 GiB meanwhile: so pages that change often are moved once for many times. The writer remembers more, too.
    pub async fn begin_bulk_load(&self) -> Result<(), StoreError> {
        match &self.inner.backend {
            Backend::Sqlite(database) => database.will_write_much().await,
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Says that all of these rows were written: SQLite's log goes into the file and gives its space back, or another
    /// process that uses the database does that in time. How long it may become does not change.
    pub async fn end_bulk_load(&self) {
        if let Backend::Sqlite(database) = &self.inner.backend {
            database.writer().cut_log().await;
        }
    }

    /// The events from now on. On PostgreSQL, and for what other processes do, [`Store::watch`] must
    /// have been called.
    pub fn subscribe(&self) -> broadcast::Receiver<StoreEvent> {
        self.inner.events.subscribe()
    }

    /// Starts, once, the background task that notices what other processes commit. It ends with the
    /// last clone of the store.
    pub fn watch(&self) {
        watch::watch(&self.inner);
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    pub(crate) fn heads(&self) -> &scores::KeyCache {
        &self.inner.heads
    }
}
