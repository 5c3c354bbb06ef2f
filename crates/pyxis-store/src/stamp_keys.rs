//! Keys by which a workspace signs Stamps of its own: numbers and issuers, as verifiers know them.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use crate::db::{row, sql};
use crate::{Executor, StoreError};

row! {
    /// A key that signs a workspace's own Stamps.
    pub StampKeyRow: "stamp_keys", stamp_key_columns {
        /// Number within the workspace, from which the private key is derived. The greatest one signs.
        number: i64,
        /// DID of the issuer that the key makes.
        did: String,
        /// Time of its creation, from which it signs.
        created_at: UnixMillis,
    }
}

/// All keys of a workspace, newest first.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<StampKeyRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        stamp_key_columns!(),
        " FROM stamp_keys WHERE workspace_id = $1 ORDER BY number DESC"
    ));
    executor.all(query.bind(workspace)).await
}

/// Adds a key. Returns false if another key took its number.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    new: &StampKeyRow,
) -> Result<bool, StoreError> {
    let query =
        sql("INSERT INTO stamp_keys (workspace_id, number, did, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING")
        .bind(workspace)
        .bind(new.number)
        .bind(&new.did)
        .bind(new.created_at);
    Ok(executor.execute(query).await? == 1)
}
