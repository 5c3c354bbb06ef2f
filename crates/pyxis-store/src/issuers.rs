//! Issuers whose credentials a workspace trusts. A change raises the generation.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use crate::db::{row, sql};
use crate::{Executor, StoreError, Tx};

row! {
    /// A trusted issuer.
    pub IssuerRow: "issuers", issuer_columns {
        /// DID of the issuer.
        did: String,
        /// Display name.
        name: String,
        /// Time when it was added.
        created_at: UnixMillis,
    }
}
pub(crate) use issuer_columns;

/// Trusts an issuer, or renames a trusted one.
pub async fn put(executor: impl Executor, workspace: WorkspaceId, new: &IssuerRow) -> Result<(), StoreError> {
    let query = sql("INSERT INTO issuers (workspace_id, did, name, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (workspace_id, did) DO UPDATE SET name = excluded.name");
    let query = query.bind(workspace).bind(&new.did).bind(&new.name).bind(new.created_at);
    executor.execute(query).await.map(|_| ())
}

/// Removes an issuer. Stamps that it issued stay until revoked. Returns true if it was trusted.
pub async fn remove(executor: impl Executor, workspace: WorkspaceId, did: &str) -> Result<bool, StoreError> {
    let query = sql("DELETE FROM issuers WHERE workspace_id = $1 AND did = $2");
    Ok(executor.execute(query.bind(workspace).bind(did)).await? == 1)
}

/// True if the issuer is trusted. One point read.
pub async fn is_listed(
    executor: impl Executor,
    workspace: WorkspaceId,
    did: &str,
) -> Result<bool, StoreError> {
    let query = sql("SELECT created_at FROM issuers WHERE workspace_id = $1 AND did = $2");
    Ok(executor.optional::<(UnixMillis,)>(query.bind(workspace).bind(did)).await?.is_some())
}

/// Those of the given issuers that are trusted. None of them can be removed until the transaction ends.
pub async fn lock_trusted(
    tx: &mut Tx,
    workspace: WorkspaceId,
    dids: &[String],
) -> Result<Vec<String>, StoreError> {
    if dids.is_empty() {
        return Ok(Vec::new());
    }
    let engine = tx.engine();
    let query = sql("SELECT did FROM issuers WHERE workspace_id = $1");
    let query = query.bind(workspace).and_in(engine, "did", dids).append(" ORDER BY did");
    let query = if tx.is_sqlite() { query } else { query.append(" FOR KEY SHARE") };
    let found = tx.all(query).await?;
    Ok(found.into_iter().map(|(did,)| did).collect())
}

/// Trusted issuers of a workspace, by DID.
pub async fn list(executor: impl Executor, workspace: WorkspaceId) -> Result<Vec<IssuerRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", issuer_columns!(), " FROM issuers WHERE workspace_id = $1 ORDER BY did"));
    executor.all(query.bind(workspace)).await
}
