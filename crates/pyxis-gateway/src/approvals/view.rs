//! What a person sees of a transaction. One view for the API, the inbox and the standalone page.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName};
use pyxis_core::clock::UnixMillis;
use pyxis_core::headers::is_sensitive;
use pyxis_core::id::{AgentId, CredentialId, TxnId, WorkspaceId};
use pyxis_core::mode::ApprovalState;
use pyxis_store::approvals::{self, ApprovalColumn, ApprovalFilter, ApprovalRow};
use pyxis_store::votes::{self, VoteRow};

use super::expire;
use crate::error::{Error, Result};
use crate::state::State;
use crate::stored::StoredRequest;

/// A transaction with what was asked and who has said what.
#[derive(Debug)]
pub struct View {
    /// The row; its state is as of now.
    pub row: ApprovalRow,
    /// Canonical URL, from the sealed request.
    pub target: String,
    /// The headers that would be forwarded, without the credential's. `None` once purged.
    pub headers: Option<HeaderMap>,
    /// The whole body. `None` once purged.
    pub body: Option<Bytes>,
    /// Votes so far.
    pub votes: Vec<VoteRow>,
}

/// Which transactions to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only in this state.
    pub state: Option<ApprovalState>,
    /// Only those that are over.
    pub settled: bool,
    /// Text in agent, credential, method, host, reason or id; empty does not narrow.
    pub text: String,
    /// Only of this agent.
    pub agent: Option<AgentId>,
    /// Only of these credentials; `None` is all.
    pub among: Option<Vec<CredentialId>>,
    /// What they are sorted by.
    pub by: ApprovalColumn,
    /// Whether the oldest or smallest stands first; else the newest or largest.
    pub rising: bool,
    /// Creation and id of the last one of the page before.
    pub beyond: Option<(UnixMillis, TxnId)>,
    /// At most this many.
    pub limit: u32,
}

/// Whether a header says which client sends rather than what is asked, or is shown with the body. Whole names
/// only: what begins like one of these can select what the request acts on (`Accept-Profile` does).
fn is_usual(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "accept"
            | "accept-charset"
            | "accept-encoding"
            | "accept-language"
            | "cache-control"
            | "content-length"
            | "content-type"
            | "pragma"
            | "sec-fetch-dest"
            | "sec-fetch-mode"
            | "sec-fetch-site"
            | "sec-fetch-user"
            | "user-agent"
    )
}

impl View {
    /// The headers of the agent that say something about this request, in order; of one that is a secret by
    /// its name only how long it is, in bytes. Empty once purged.
    pub fn telling_headers(&self) -> Vec<(String, String)> {
        let told = self.headers.iter().flatten().filter(|(name, _)| !is_usual(name));
        told.map(|(name, value)| {
            let text = if is_sensitive(name.as_str()) {
                format!("… (length {})", value.len())
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            };
            (name.as_str().to_owned(), text)
        })
        .collect()
    }

    /// What a page that shows this transaction was made from; see [`mark`].
    pub fn mark(&self) -> String {
        mark_of(&self.row, self.votes.len())
    }
}

/// Differs whenever a page that shows the transaction should be made anew.
pub async fn mark(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<String> {
    let row = row(state, workspace, txn).await?;
    let votes = votes::list(&state.store, workspace, txn).await?;
    Ok(mark_of(&row, votes.len()))
}

fn mark_of(row: &ApprovalRow, votes: usize) -> String {
    format!("{} {} {votes}", row.state.as_str(), row.forward_state.as_str())
}

/// One transaction of a workspace as it is stored; its state is as of now.
pub async fn row(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<ApprovalRow> {
    let found = approvals::find(&state.store, workspace, txn).await?;
    expire::settle(state, found.ok_or(Error::NotFound("transaction"))?).await
}

/// One transaction of a workspace, whole.
pub async fn one(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<View> {
    let row = row(state, workspace, txn).await?;
    let votes = votes::list(&state.store, workspace, txn).await?;
    let target = target(state, &row)?;
    let request = request(state, &row).await?;
    let (headers, body) = request.map(|request| (request.headers, request.body)).unzip();
    Ok(View { row, target, headers, body, votes })
}

/// How many transactions of a workspace can still be decided; of some credentials, if any are named.
pub async fn pending(state: &State, workspace: WorkspaceId, among: Option<&[CredentialId]>) -> Result<u64> {
    let (store, now) = (&state.store, state.now());
    let count = match among {
        None => approvals::count_pending(store, workspace, now).await?,
        Some(among) => approvals::count_pending_among(store, workspace, among, now).await?,
    };
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Transactions of a workspace in the order of the filter, without their bodies.
pub async fn list(state: &State, workspace: WorkspaceId, filter: &Filter) -> Result<Vec<View>> {
    expire::expire_due(state).await?;
    let wanted = ApprovalFilter {
        state: filter.state,
        settled: filter.settled,
        text: Some(filter.text.trim()).filter(|text| !text.is_empty()).map(str::to_owned),
        agent: filter.agent,
        credential: None,
        by: filter.by,
        rising: filter.rising,
        beyond: filter.beyond,
        limit: filter.limit.clamp(1, 500),
    };
    let rows = match &filter.among {
        None => approvals::list(&state.store, workspace, &wanted).await?,
        Some(among) => approvals::list_among(&state.store, workspace, &wanted, among).await?,
    };
    let ids: Vec<TxnId> = rows.iter().map(|row| row.txn_id).collect();
    let votes = votes::list_many(&state.store, workspace, &ids).await?;
    rows.into_iter()
        .map(|row| {
            let votes = votes.iter().filter(|vote| vote.txn_id == row.txn_id).cloned().collect();
            Ok(View { target: target(state, &row)?, row, headers: None, body: None, votes })
        })
        .collect()
}

fn target(state: &State, row: &ApprovalRow) -> Result<String> {
    let aad = approvals::target_aad(row.workspace_id, row.txn_id);
    let bytes =
        state.keyring.open(&aad, &row.sealed_target).map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(String::from_utf8_lossy(bytes.expose()).into_owned())
}

async fn request(state: &State, row: &ApprovalRow) -> Result<Option<StoredRequest>> {
    let sealed = approvals::request(&state.store, row.workspace_id, row.txn_id).await?;
    let Some(sealed) = sealed else { return Ok(None) };
    let aad = approvals::request_aad(row.workspace_id, row.txn_id);
    let bytes = state.keyring.open(&aad, &sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    StoredRequest::decode(&bytes).map(Some).map_err(|error| Error::Internal(Box::new(error)))
}
