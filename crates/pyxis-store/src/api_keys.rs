//! API keys of the scoring API (`docs/reference/behavior/scoring.md#rate-limits`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, WorkspaceId};

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// An API key. The key text is not stored.
    pub ApiKeyRow: "api_keys", api_key_columns {
        /// Unique identifier.
        id: ApiKeyId,
        /// Owning workspace.
        workspace_id: WorkspaceId,
        /// Display name.
        name: String,
        /// SHA-256 of the key, hex.
        key_hash: String,
        /// First characters of the key.
        key_hint: String,
        /// Tier of the Stamps endpoints.
        stamps_tier: i64,
        /// Individual limit for the Stamps endpoints, in requests per window.
        stamps_limit: Option<i64>,
        /// Tier of the models endpoint.
        models_tier: i64,
        /// Individual limit for the models endpoint, in requests per window.
        models_limit: Option<i64>,
        /// True if the key may read scores and Stamps.
        can_read: bool,
        /// True if the key may write Stamps.
        can_write: bool,
        /// True if the key may read history.
        can_read_history: bool,
        /// Time when the key was revoked.
        revoked_at: Option<UnixMillis>,
        /// Creation time.
        created_at: UnixMillis,
        /// Time of the last use, recorded by the counters. Only [`list`] and [`find_by_id`] fill it in.
        last_used_at: Option<UnixMillis>,
    }
}

/// A tier with an optional individual limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Tier number, from 1.
    pub tier: i64,
    /// Individual limit, in requests per window.
    pub limit: Option<i64>,
}

/// Change to a key; `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct ApiKeyChange {
    /// Display name.
    pub name: Option<String>,
    /// Tier of the Stamps endpoints.
    pub stamps: Option<Tier>,
    /// Tier of the models endpoint.
    pub models: Option<Tier>,
    /// True lets the key read scores and Stamps.
    pub can_read: Option<bool>,
    /// True lets the key write Stamps.
    pub can_write: Option<bool>,
    /// True lets the key read history.
    pub can_read_history: Option<bool>,
}

/// Adds a key. The id must be new.
pub async fn insert(executor: impl Executor, new: &ApiKeyRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO api_keys (id, workspace_id, name, key_hash, key_hint, stamps_tier, stamps_limit, \
         models_tier, models_limit, can_read, can_write, can_read_history, revoked_at, created_at, \
         last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
         ON CONFLICT DO NOTHING")
        .bind(new.id)
        .bind(new.workspace_id)
        .bind(&new.name)
        .bind(&new.key_hash)
        .bind(&new.key_hint)
        .bind(new.stamps_tier)
        .bind(new.stamps_limit)
        .bind(new.models_tier)
        .bind(new.models_limit)
        .bind(new.can_read)
        .bind(new.can_write)
        .bind(new.can_read_history)
        .bind(new.revoked_at)
        .bind(new.created_at)
        .bind(new.last_used_at);
    crate::db::insert(executor, query).await
}

/// The key with this hash, revoked or not. The key determines the workspace.
pub async fn find(executor: impl Executor, key_hash: &str) -> Result<Option<ApiKeyRow>, StoreError> {
    let query = sql(concat!("SELECT ", api_key_columns!(), " FROM api_keys WHERE key_hash = $1"));
    executor.optional(query.bind(key_hash)).await
}

/// Columns of a key with its last use, which comes from the windows in which it was counted.
macro_rules! key_columns {
    () => {
        "id, workspace_id, name, key_hash, key_hint, stamps_tier, stamps_limit, models_tier, models_limit, \
         can_read, can_write, can_read_history, revoked_at, created_at, \
         coalesce((SELECT max(last_at) FROM usage_windows WHERE api_key_id = api_keys.id), last_used_at)"
    };
}
pub(crate) use key_columns;

macro_rules! with_last_use {
    ($rest:literal) => {
        concat!("SELECT ", key_columns!(), " FROM api_keys ", $rest)
    };
}

/// The key with this id, revoked or not.
pub async fn find_by_id(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ApiKeyId,
) -> Result<Option<ApiKeyRow>, StoreError> {
    let query = sql(with_last_use!("WHERE workspace_id = $1 AND id = $2"));
    executor.optional(query.bind(workspace).bind(id)).await
}

/// Keys of a workspace, oldest first.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ApiKeyRow>, StoreError> {
    let query = sql(with_last_use!("WHERE workspace_id = $1 ORDER BY created_at, id"));
    executor.all(query.bind(workspace)).await
}

/// Applies a change. Returns true if the key exists.
pub async fn update(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ApiKeyId,
    change: ApiKeyChange,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE api_keys SET id = id")
        .push_if(", name = ?", change.name)
        .push_if(", stamps_tier = ?", change.stamps.map(|stamps| stamps.tier))
        .push_if(", stamps_limit = ?", change.stamps.map(|stamps| stamps.limit))
        .push_if(", models_tier = ?", change.models.map(|models| models.tier))
        .push_if(", models_limit = ?", change.models.map(|models| models.limit))
        .push_if(", can_read = ?", change.can_read)
        .push_if(", can_write = ?", change.can_write)
        .push_if(", can_read_history = ?", change.can_read_history)
        .push(" WHERE workspace_id = ?", workspace)
        .push(" AND id = ?", id);
    Ok(executor.execute(query).await? == 1)
}

/// Revokes a key permanently. Returns true if it existed and was not revoked.
pub async fn revoke(
    executor: impl Executor,
    workspace: WorkspaceId,
    id: ApiKeyId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let query = sql("UPDATE api_keys SET revoked_at = $1 WHERE workspace_id = $2 AND id = $3 \
         AND revoked_at IS NULL");
    Ok(executor.execute(query.bind(now).bind(workspace).bind(id)).await? == 1)
}
