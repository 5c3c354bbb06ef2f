//! API keys of the scoring surface (Spec 1).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// An API key. The key itself is not stored.
    pub ApiKeyRow: "api_keys", api_key_columns {
        /// Identifier.
        id: String,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// Name.
        name: String,
        /// SHA-256 of the key, hex.
        key_hash: String,
        /// The first characters of the key.
        key_hint: String,
        /// Rate tier.
        tier: i64,
        /// Whether it reads scores and Stamps.
        can_read: bool,
        /// Whether it writes Stamps.
        can_write: bool,
        /// Whether it reads history.
        can_read_history: bool,
        /// When it was revoked.
        revoked_at: Option<UnixMillis>,
        /// Creation.
        created_at: UnixMillis,
        /// Last use.
        last_used_at: Option<UnixMillis>,
    }
}

/// Adds a key.
pub async fn insert(executor: impl Executor, new: &ApiKeyRow) -> Result<(), StoreError> {
    let query =
        sql("INSERT INTO api_keys (id, workspace_id, name, key_hash, key_hint, tier, can_read, can_write, \
         can_read_history, revoked_at, created_at, last_used_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING")
        .bind(&new.id)
        .bind(new.workspace_id)
        .bind(&new.name)
        .bind(&new.key_hash)
        .bind(&new.key_hint)
        .bind(new.tier)
        .bind(new.can_read)
        .bind(new.can_write)
        .bind(new.can_read_history)
        .bind(new.revoked_at)
        .bind(new.created_at)
        .bind(new.last_used_at);
    crate::db::insert(executor, query).await
}

/// The key, by the hash of its text; the key tells the workspace.
pub async fn find(executor: impl Executor, key_hash: &str) -> Result<Option<ApiKeyRow>, StoreError> {
    let query = sql(concat!("SELECT ", api_key_columns!(), " FROM api_keys WHERE key_hash = $1"));
    executor.optional(query.bind(key_hash)).await
}

/// The keys of a workspace.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<ApiKeyRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", api_key_columns!(), " FROM api_keys WHERE workspace_id = $1 ORDER BY id"));
    executor.all(query.bind(workspace)).await
}
