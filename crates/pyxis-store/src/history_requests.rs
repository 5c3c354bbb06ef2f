//! Requests for access to score history, which managers approve or refuse
//! (`docs/reference/behavior/scoring.md#history`).

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{ApiKeyId, HistoryRequestId, WorkspaceId};

use crate::api_keys::{self, ApiKeyChange};
use crate::db::{row, sql, stored_enum};
use crate::{Executor, StoreError, Tx};

stored_enum! {
    pub RequestState {
        /// Not decided yet.
        Pending = "pending",
        /// The key may read history.
        Approved = "approved",
        /// The key may not read history.
        Refused = "refused",
    }
}

row! {
    /// A request for history access.
    pub HistoryRequestRow: "history_requests", history_request_columns {
        /// Unique identifier.
        id: HistoryRequestId,
        /// Workspace of the key.
        workspace_id: WorkspaceId,
        /// Key that wants to read history.
        api_key_id: ApiKeyId,
        /// Intended use.
        use_case: String,
        /// Current state.
        state: RequestState,
        /// Email address of the requester.
        requested_by: String,
        /// Time of the request.
        created_at: UnixMillis,
        /// User who decided.
        decided_by: Option<String>,
        /// Time of the decision.
        decided_at: Option<UnixMillis>,
    }
}
pub(crate) use history_request_columns;

/// A request for history access to add.
#[derive(Clone, Debug)]
pub struct NewRequest {
    /// Unique identifier.
    pub id: HistoryRequestId,
    /// Key that wants to read history.
    pub api_key_id: ApiKeyId,
    /// Intended use.
    pub use_case: String,
    /// Email address of the requester.
    pub requested_by: String,
    /// Current time.
    pub created_at: UnixMillis,
}

/// Adds a request. `Conflict` if one for the key is pending, `Reference` if the key does not exist.
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

/// Requests of a workspace, newest first.
pub async fn list(
    executor: impl Executor,
    workspace: WorkspaceId,
    state: Option<RequestState>,
) -> Result<Vec<HistoryRequestRow>, StoreError> {
    let query =
        sql(concat!("SELECT ", history_request_columns!(), " FROM history_requests WHERE workspace_id = $1"));
    executor.all(query.bind(workspace).push_if(" AND state = ?", state).append(" ORDER BY id DESC")).await
}

/// Decides a pending request and, if approved, lets its key read history. Returns the key, or `None` if there is no
/// such pending request.
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
