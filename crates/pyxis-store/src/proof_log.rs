//! The log of the registry: everything that ever happened, in order. Rows are only added.

use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};

use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError};

stored_enum! {
    /// What happened.
    pub Change {
        /// An address proved something.
        Register = "register",
        /// A proof was revoked.
        Revoke = "revoke",
        /// A proof left this address for another, which the next entries register.
        Rebind = "rebind",
        /// A proof that had expired ended for good, because another address registered its nullifier.
        Expire = "expire",
        /// An address was blocked.
        Block = "block",
        /// It is blocked no longer.
        Unblock = "unblock",
    }
}

row! {
    /// One entry.
    pub LogRow: "proof_log", log_columns {
        /// Number, higher than that of every entry before.
        id: i64,
        /// What happened.
        change: Change,
        /// Where.
        network: NetworkName,
        /// In which block.
        height: i64,
        /// When.
        at: UnixMillis,
        /// What the proof is of.
        kind: Option<Kind>,
        /// To whom.
        subject: Subject,
        /// For which use.
        action_id: Option<ActionId>,
        /// The human's mark.
        nullifier: Option<ProofNullifier>,
        /// When the proof expires.
        expires_at: Option<UnixMillis>,
        /// Why.
        reason: Option<String>,
        /// The issuer who signed it, or the manager.
        made_by: String,
    }
}

/// Adds an entry; its `id` is not looked at.
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

/// Entries after a number, oldest first.
pub async fn page(executor: impl Executor, after: i64, limit: u32) -> Result<Vec<LogRow>, StoreError> {
    let query = sql(concat!("SELECT ", log_columns!(), " FROM proof_log WHERE id > $1 ORDER BY id"));
    executor.all(query.bind(after).limit(limit)).await
}

row! {
    /// A signed statement that took effect.
    pub StatementRow: "proof_statements", statement_columns {
        /// Its digest.
        digest: [u8; 32],
        /// Who signed it.
        issuer: String,
        /// The network of its (first) change.
        network: NetworkName,
        /// In which block.
        height: i64,
        /// The proof that it registered.
        proof_id: Option<i64>,
    }
}

/// Remembers a statement, so that it takes effect once.
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

/// The statement of a digest, if it took effect.
pub async fn find_statement(
    executor: impl Executor,
    digest: &[u8; 32],
) -> Result<Option<StatementRow>, StoreError> {
    let query = sql(concat!("SELECT ", statement_columns!(), " FROM proof_statements WHERE digest = $1"));
    executor.optional(query.bind(digest)).await
}
