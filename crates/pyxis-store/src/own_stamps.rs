//! Stamps that a workspace issues by a rule of its own.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::StampName;

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// The rule of an own Stamp.
    pub OwnStampRow: "own_stamps", own_stamp_columns {
        provider: StampName,
        /// Kind of the rule.
        kind: String,
        /// Description, for people.
        description: String,
        /// Days that an issued Stamp is valid.
        valid_days: i64,
        /// Settings of the kind, a JSON object.
        settings: String,
        /// Time when it was added.
        created_at: UnixMillis,
    }
}

/// The own Stamps of a workspace, by name.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<OwnStampRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        own_stamp_columns!(),
        " FROM own_stamps WHERE workspace_id = $1 ORDER BY provider"
    ));
    executor.all(query.bind(workspace)).await
}

/// One own Stamp.
pub async fn find(
    executor: impl Executor,
    workspace: WorkspaceId,
    provider: &StampName,
) -> Result<Option<OwnStampRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        own_stamp_columns!(),
        " FROM own_stamps WHERE workspace_id = $1 AND provider = $2"
    ));
    executor.optional(query.bind(workspace).bind(provider)).await
}

/// Locks an own Stamp until the transaction ends, so that it is not removed. Returns true if it exists with exactly
/// this rule.
pub async fn lock_unchanged(
    tx: &mut Tx,
    workspace: WorkspaceId,
    known: &OwnStampRow,
) -> Result<bool, StoreError> {
    let query = sql("SELECT created_at FROM own_stamps WHERE workspace_id = $1 AND provider = $2 \
         AND kind = $3 AND settings = $4");
    let query = query.bind(workspace).bind(&known.provider).bind(&known.kind).bind(&known.settings);
    let query = if tx.is_sqlite() { query } else { query.append(" FOR SHARE") };
    Ok(tx.optional::<(UnixMillis,)>(query).await?.is_some())
}

/// Adds an own Stamp. Returns false if the name is taken.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    new: &OwnStampRow,
) -> Result<bool, StoreError> {
    let query = sql("INSERT INTO own_stamps \
         (workspace_id, provider, kind, description, valid_days, settings, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING")
    .bind(workspace)
    .bind(&new.provider)
    .bind(&new.kind)
    .bind(&new.description)
    .bind(new.valid_days)
    .bind(&new.settings)
    .bind(new.created_at);
    Ok(executor.execute(query).await? == 1)
}

/// Removes an own Stamp. Returns true if it existed.
pub async fn remove(
    executor: impl Executor,
    workspace: WorkspaceId,
    provider: &StampName,
) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM own_stamps WHERE workspace_id = $1 AND provider = $2");
    Ok(executor.execute(query.bind(workspace).bind(provider)).await? == 1)
}
