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
    let backlog = async |query: SqlQuery| {
        let found: Vec<(i64, Option<UnixMillis>)> = store.all(query).await?;
        Ok::<Backlog, StoreError>(found.into_iter().next().map(Backlog::from).unwrap_or_default())
    };
    let time = async |text: &'static str| {
        let found: Vec<(Option<UnixMillis>,)> = store.all(sql(text)).await?;
        Ok::<Option<UnixMillis>, StoreError>(found.into_iter().next().and_then(|(time,)| time))
    };
    let approvals =
        backlog(sql("SELECT count(*), min(created_at) FROM approvals WHERE state = 'pending'")).await?;
    let webhooks =
        backlog(sql("SELECT count(*), min(created_at) FROM deliveries WHERE status = 'pending'")).await?;
    // Messages that quiet hours hold back are not late.
    let push = sql("SELECT count(*), min(a.created_at) FROM push_messages p \
         JOIN approvals a ON a.txn_id = p.txn_id WHERE p.attempts > 0 OR p.next_at <= $1");
    let push = backlog(push.bind(now)).await?;
    let chats = sql("SELECT platform, count(*), min(created_at) FROM (\
         SELECT platform, created_at FROM chat_messages WHERE next_at IS NOT NULL AND created_at <= $1 UNION ALL \
         SELECT platform, created_at FROM task_messages WHERE next_at IS NOT NULL AND created_at <= $1) \
         AS messages GROUP BY platform");
    let chats: Vec<(String, i64, Option<UnixMillis>)> = store.all(chats.bind(now)).await?;
    let chat = |(name, count, oldest): (String, i64, Option<UnixMillis>)| {
        let platform = ChatPlatform::ALL.iter().copied().find(|platform| platform.as_str() == name)?;
        Some((platform, Backlog { count, oldest }))
    };
    let head: Vec<(i64,)> = store.all(sql("SELECT seq FROM audit_head WHERE id = 1")).await?;
    let signed = "SELECT signed_at FROM audit_checkpoints ORDER BY seq DESC LIMIT 1";
    let expiring = sql("SELECT count(*) FROM access_tokens WHERE expires_at > $1 AND expires_at <= $2");
    let expiring: Vec<(i64,)> = store.all(expiring.bind(now).bind(expiring_before)).await?;
    let disconnected: Vec<(i64,)> =
        store.all(sql("SELECT count(*) FROM oauth_tokens WHERE problem IS NOT NULL")).await?;
    // A score key is published before it signs.
    let score_keys = sql("SELECT min(newest) FROM (SELECT max(created_at) AS newest FROM score_keys \
         WHERE signs_from <= $1 GROUP BY scheme) AS signing");
    let score_keys: Vec<(Option<UnixMillis>,)> = store.all(score_keys.bind(now)).await?;
    let first = |rows: Vec<(i64,)>| rows.first().map_or(0, |(count,)| *count);
    Ok(InstallationState {
        approvals,
        webhooks,
        chats: chats.into_iter().filter_map(chat).collect(),
        push,
        audit_seq: first(head),
        audit_signed_at: time(signed).await?,
        expiring_tokens: first(expiring),
        disconnected_accounts: first(disconnected),
        data_key_at: time("SELECT max(created_at) FROM data_keys").await?,
        attestation_key_at: time("SELECT min(created_at) FROM attestation_keys WHERE retired_at IS NULL")
            .await?,
        score_key_at: score_keys.into_iter().next().and_then(|(time,)| time),
        stamp_key_at: time(
            "SELECT min(newest) FROM (SELECT max(created_at) AS newest FROM stamp_keys \
             GROUP BY workspace_id) AS signing",
        )
        .await?,
        receipt_key_at: time("SELECT max(created_at) FROM receipt_keys").await?,
        backup_at: home::last_backup(store).await?,
    })
}

/// Credentials of all workspaces that present a client certificate.
pub async fn client_certificates(store: &Store) -> Result<Vec<CredentialRow>, StoreError> {
    let query = concat!("SELECT ", credential_columns!(), " FROM credentials WHERE auth LIKE '%\"mtls\"%'");
    store.all(sql(query)).await
}
