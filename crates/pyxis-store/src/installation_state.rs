//! State of the whole installation, for the gauges of a server.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;

use crate::credentials::{CredentialRow, credential_columns};
use crate::db::{Backend, SqlQuery, sql};
use crate::{Executor, PoolState, Store, StoreError, home};

impl Store {
    /// SQLite: size of the write-ahead log's file, in bytes.
    pub fn wal_bytes(&self) -> Option<u64> {
        match self.backend() {
            Backend::Sqlite(database) => Some(database.log_bytes()),
            Backend::Postgres(_) => None,
        }
    }

    /// PostgreSQL: connections for statements and transactions.
    pub fn pool_state(&self) -> Option<PoolState> {
        match self.backend() {
            Backend::Sqlite(_) => None,
            Backend::Postgres(database) => Some(database.pool_state()),
        }
    }
}

/// Things that wait, and the creation of the oldest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub count: i64,
    pub oldest: Option<UnixMillis>,
}

impl From<(i64, Option<UnixMillis>)> for Backlog {
    fn from((count, oldest): (i64, Option<UnixMillis>)) -> Self {
        Self { count, oldest }
    }
}

/// State of the whole installation, as the gauges show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallationState {
    /// Approval requests without a decision.
    pub approvals: Backlog,
    pub webhooks: Backlog,
    pub chats: Vec<(ChatPlatform, Backlog)>,
    /// Browser notifications; the oldest by its approval request.
    pub push: Backlog,
    /// Number of the newest audit record.
    pub audit_seq: i64,
    /// Newest signature of the audit head.
    pub audit_signed_at: Option<UnixMillis>,
    /// Personal access tokens that expire before the given time.
    pub expiring_tokens: i64,
    /// Stored credentials whose account must be connected again.
    pub disconnected_accounts: i64,
    /// Creation of the newest data key.
    pub data_key_at: Option<UnixMillis>,
    /// Creation of the oldest attestation key in use.
    pub attestation_key_at: Option<UnixMillis>,
    /// Creation of the oldest key that signs scores; each form has one.
    pub score_key_at: Option<UnixMillis>,
    /// Creation of the oldest key that signs own Stamps; each workspace has one.
    pub stamp_key_at: Option<UnixMillis>,
    /// Creation of the key that signs receipts.
    pub receipt_key_at: Option<UnixMillis>,
    /// Newest complete backup, of the command or of a schedule.
    pub backup_at: Option<UnixMillis>,
}

/// Reads the state. Each statement uses an index over what waits, or a table with few rows. `expiring_before` bounds
/// [`InstallationState::expiring_tokens`].
pub async fn read(
    store: &Store,
    now: UnixMillis,
    expiring_before: UnixMillis,
) -> Result<InstallationState, StoreError> {
    Ok(InstallationState {
        approvals: backlog(
            store,
            sql("SELECT count(*), min(created_at) FROM approvals WHERE state = 'pending'"),
        )
        .await?,
        webhooks: backlog(
            store,
            sql("SELECT count(*), min(created_at) FROM deliveries WHERE status = 'pending'"),
        )
        .await?,
        push: waiting_push(store, now).await?,
        chats: waiting_chats(store, now).await?,
        audit_seq: number(store, sql("SELECT seq FROM audit_head WHERE id = 1")).await?,
        audit_signed_at: time(
            store,
            sql("SELECT signed_at FROM audit_checkpoints ORDER BY seq DESC LIMIT 1"),
        )
        .await?,
        expiring_tokens: expiring_tokens(store, now, expiring_before).await?,
        disconnected_accounts: number(
            store,
            sql("SELECT count(*) FROM oauth_tokens WHERE problem IS NOT NULL"),
        )
        .await?,
        data_key_at: time(store, sql("SELECT max(created_at) FROM data_keys")).await?,
        attestation_key_at: time(
            store,
            sql("SELECT min(created_at) FROM attestation_keys WHERE retired_at IS NULL"),
        )
        .await?,
        score_key_at: score_key_at(store, now).await?,
        stamp_key_at: stamp_key_at(store).await?,
        receipt_key_at: time(store, sql("SELECT max(created_at) FROM receipt_keys")).await?,
        backup_at: home::last_backup(store).await?,
    })
}

async fn backlog(store: &Store, query: SqlQuery) -> Result<Backlog, StoreError> {
    let found: Vec<(i64, Option<UnixMillis>)> = store.all(query).await?;
    Ok(found.into_iter().next().map(Backlog::from).unwrap_or_default())
}

async fn time(store: &Store, query: SqlQuery) -> Result<Option<UnixMillis>, StoreError> {
    let found: Vec<(Option<UnixMillis>,)> = store.all(query).await?;
    Ok(found.into_iter().next().and_then(|(time,)| time))
}

async fn number(store: &Store, query: SqlQuery) -> Result<i64, StoreError> {
    let found: Vec<(i64,)> = store.all(query).await?;
    Ok(found.first().map_or(0, |(number,)| *number))
}

/// Browser notifications that are due or were tried. Messages that quiet hours hold back are not late.
async fn waiting_push(store: &Store, now: UnixMillis) -> Result<Backlog, StoreError> {
    let query = sql("SELECT count(*), min(a.created_at) FROM push_messages p \
         JOIN approvals a ON a.txn_id = p.txn_id WHERE p.attempts > 0 OR p.next_at <= $1");
    backlog(store, query.bind(now)).await
}

/// Chat messages to be posted or edited, for each platform that has some.
async fn waiting_chats(store: &Store, now: UnixMillis) -> Result<Vec<(ChatPlatform, Backlog)>, StoreError> {
    let query = sql("SELECT platform, count(*), min(created_at) FROM (\
         SELECT platform, created_at FROM chat_messages WHERE next_at IS NOT NULL AND created_at <= $1 UNION ALL \
         SELECT platform, created_at FROM task_messages WHERE next_at IS NOT NULL AND created_at <= $1) \
         AS messages GROUP BY platform");
    let found: Vec<(String, i64, Option<UnixMillis>)> = store.all(query.bind(now)).await?;
    let chat = |(name, count, oldest): (String, i64, Option<UnixMillis>)| {
        let platform = ChatPlatform::ALL.iter().copied().find(|platform| platform.as_str() == name)?;
        Some((platform, Backlog { count, oldest }))
    };
    Ok(found.into_iter().filter_map(chat).collect())
}

async fn expiring_tokens(store: &Store, now: UnixMillis, before: UnixMillis) -> Result<i64, StoreError> {
    let query = sql("SELECT count(*) FROM access_tokens WHERE expires_at > $1 AND expires_at <= $2");
    number(store, query.bind(now).bind(before)).await
}

/// Creation of the oldest key that signs scores. A score key is published before it signs.
async fn score_key_at(store: &Store, now: UnixMillis) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(newest) FROM (SELECT max(created_at) AS newest FROM score_keys \
         WHERE signs_from <= $1 GROUP BY scheme) AS signing");
    time(store, query.bind(now)).await
}

/// Creation of the oldest key that signs own Stamps.
async fn stamp_key_at(store: &Store) -> Result<Option<UnixMillis>, StoreError> {
    let query = sql("SELECT min(newest) FROM (SELECT max(created_at) AS newest FROM stamp_keys \
         GROUP BY workspace_id) AS signing");
    time(store, query).await
}

/// Credentials of all workspaces that present a client certificate.
pub async fn client_certificates(store: &Store) -> Result<Vec<CredentialRow>, StoreError> {
    let query = concat!("SELECT ", credential_columns!(), " FROM credentials WHERE auth LIKE '%\"mtls\"%'");
    store.all(sql(query)).await
}
