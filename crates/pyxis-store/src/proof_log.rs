//! Log of the registry: all changes, in order. Rows are only added.

use pyxis_core::actor::ActorId;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// Kind of change.
    pub Change {
        /// A proof was registered.
        Register = "register",
        /// A proof was revoked.
        Revoke = "revoke",
        /// A proof moved from this address to another one, which the next entries register.
        Rebind = "rebind",
        /// An expired proof was ended because another address registered its nullifier.
        Expire = "expire",
        /// An address was blocked.
        Block = "block",
        /// An address was unblocked.
        Unblock = "unblock",
    }
}

row! {
    /// A log entry.
    pub LogRow: "proof_log", log_columns {
        /// Entry number, higher than all earlier ones.
        id: i64,
        /// Kind of change.
        change: Change,
        /// Network of the change.
        network: NetworkName,
        /// Block height of the change.
        height: i64,
        /// Time of the change.
        at: UnixMillis,
        /// Kind of proof.
        kind: Option<Kind>,
        /// Address that the change is about.
        subject: Subject,
        /// Action id of the proof.
        action_id: Option<ActionId>,
        nullifier: Option<ProofNullifier>,
        /// Expiry of the proof.
        expires_at: Option<UnixMillis>,
        /// Reason for the change.
        reason: Option<String>,
        /// Issuer who signed it, or the manager.
        made_by: ActorId,
    }
}

/// Appends an entry. Its `id` is ignored.
pub async fn append(executor: impl Executor, entry: &LogRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO proof_log (change, network, height, at, kind, subject, action_id, nullifier, \
         expires_at, reason, made_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
        .bind(entry.change)
        .bind(&entry.network)
        .bind(entry.height)
        .bind(entry.at)
        .bind(entry.kind)
        .bind(entry.subject)
        .bind(entry.action_id)
        .bind(entry.nullifier)
        .bind(entry.expires_at)
        .bind(&entry.reason)
        .bind(&entry.made_by);
    executor.execute(query).await.map(|_| ())
}

/// Height of the newest change of a network, 0 if there was none.
pub async fn highest(executor: impl Executor, network: &NetworkName) -> Result<i64, StoreError> {
    let query = sql("SELECT COALESCE(MAX(height), 0) FROM proof_log WHERE network = $1").bind(network);
    Ok(executor.optional(query).await?.map_or(0, |(height,)| height))
}

/// Entries after a number, oldest first.
pub async fn page(executor: impl Executor, after: i64, limit: u32) -> Result<Vec<LogRow>, StoreError> {
    let query = sql(concat!("SELECT ", log_columns!(), " FROM proof_log WHERE id > $1 ORDER BY id"));
    executor.all(query.bind(after).limit(limit)).await
}

row! {
    /// A signed statement that took effect.
    pub StatementRow: "proof_statements", statement_columns {
        /// Digest of the statement.
        digest: [u8; 32],
        /// Issuer who signed it.
        issuer: String,
        /// Network of its first change.
        network: NetworkName,
        /// Block height of the change.
        height: i64,
        /// Id of the proof that it registered.
        proof_id: Option<i64>,
    }
}

/// Records a statement, so that it takes effect only once.
pub async fn remember(executor: impl Executor, new: &StatementRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO proof_statements (digest, issuer, network, height, proof_id) \
         VALUES ($1, $2, $3, $4, $5)")
    .bind(new.digest)
    .bind(&new.issuer)
    .bind(&new.network)
    .bind(new.height)
    .bind(new.proof_id);
    executor.execute(query).await.map(|_| ())
}

/// The statement with this digest, if it took effect.
pub async fn find_statement(
    executor: impl Executor,
    digest: &[u8; 32],
) -> Result<Option<StatementRow>, StoreError> {
    let query = sql(concat!("SELECT ", statement_columns!(), " FROM proof_statements WHERE digest = $1"));
    executor.optional(query.bind(digest)).await
}
