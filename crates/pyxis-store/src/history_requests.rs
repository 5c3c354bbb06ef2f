//! Requests for access to score history, which people approve or refuse (Spec 1, History).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, HistoryRequestId, WorkspaceId};

use crate::api_keys::{self, ApiKeyChange};
use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    /// What became of a request.
    pub RequestState {
        /// Nobody has decided.
        Pending = "pending",
        /// The key may read history.
        Approved = "approved",
        /// It may not.
        Refused = "refused",
    }
}

row! {
    /// A request.
    pub HistoryRequestRow: "history_requests", history_request_columns {
        /// Identifier.
        id: HistoryRequestId,
        /// Workspace.
        workspace_id: WorkspaceId,
        /// The key that wants to read history.
        api_key_id: ApiKeyId,
        /// What for.
        use_case: String,
        /// What became of it.
        state: RequestState,
        /// Who asked, an e-mail address.
        requested_by: String,
        /// When.
        created_at: UnixMillis,
        /// Who decided.
        decided_by: Option<String>,
        /// When.
        decided_at: Option<UnixMillis>,
    }
}

/// A request to add.
#[derive(Clone, Debug)]
pub struct NewRequest {
    /// Identifier.
    pub id: HistoryRequestId,
    /// The key that wants to read history.
    pub api_key_id: ApiKeyId,
    /// What for.
    pub use_case: String,
    /// Who asks, an e-mail address.
    pub requested_by: String,
    /// The present moment.
    pub created_at: UnixMillis,
}

/// Adds a request. `Conflict` when one for the key is pending, `Reference` when there is no such key.
pub async fn insert(
    executor: impl Executor,
    workspace: WorkspaceId,
    new: &NewRequest,
) -> Result<(), StoreError> {
    let query = sql(
        "INSERT INTO history_requests (id, workspace_id, api_key_id, use_case, state, requested_by, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
    )
    .bind(new.id)
    .bind(workspace)
    .bind(new.api_key_id)
    .bind(&new.use_case)
    .bind(RequestState::Pending)
    .bind(&new.requested_by)
    .bind(new.created_at);
    crate::db::insert(executor, query).await
}

/// The requests of a workspace, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    state: Option<RequestState>,
) -> Result<Vec<HistoryRequestRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", history_request_columns!(), " FROM history_requests WHERE workspace_id = $1"));
    executor.all(query.bind(workspace).push_if(" AND state = ?", state).then(" ORDER BY id DESC")).await
}

/// Decides a pending request, and lets its key read history if that is the word; the key, or `None` if
/// there is no such pending request.
pub async fn decide(
    tx: &mut Tx,
    workspace: WorkspaceId,
    id: HistoryRequestId,
    approve: bool,
    decided_by: &str,
    now: UnixMillis,
) -> Result<Option<ApiKeyId>, StoreError> {
    let state = if approve { RequestState::Approved } else { RequestState::Refused };
    let query = sql("UPDATE history_requests SET state = $1, decided_by = $2, decided_at = $3 \
         WHERE workspace_id = $4 AND id = $5 AND state = 'pending' RETURNING api_key_id")
    .bind(state)
    .bind(decided_by)
    .bind(now)
    .bind(workspace)
    .bind(id);
    let Some((key,)) = tx.returning(query).await?.pop() else { return Ok(None) };
    if approve {
        let change = ApiKeyChange { can_read_history: Some(true), ..ApiKeyChange::default() };
        api_keys::update(tx, workspace, key, change).await?;
    }
    Ok(Some(key))
}
