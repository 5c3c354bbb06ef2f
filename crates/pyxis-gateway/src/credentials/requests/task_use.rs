//! Uses of tasks in place of approvals.

use axum::body::Body;
use http::HeaderMap;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_core::policy::{ContentCondition, Method, Rule};
use pyxis_core::target::Target;
use pyxis_core::task;
use pyxis_store::Store;
use pyxis_store::tasks::{self, TaskActionRow, TaskLookup};

use crate::credentials::requests::authorization::{AllowedBy, Matched};
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::credentials::requests::{authorize, body, content};
use crate::error::Result;
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// A request that a task may cover.
#[derive(Clone, Copy)]
pub(crate) struct TaskRequest<'a> {
    pub(crate) workspace: WorkspaceId,
    pub(crate) agent: AgentId,
    pub(crate) credential: &'a ResolvedCredential,
    pub(crate) method: Method,
    pub(crate) target: &'a Target,
}

/// An action that covers a request, if its content meets the conditions.
pub(crate) struct Candidate {
    pub(crate) action: TaskActionRow,
    pub(crate) conditions: Vec<ContentCondition>,
}

/// Actions that cover a request apart from its content, in order. None if no task may replace its approval.
pub(crate) async fn candidates(
    store: &Store,
    request: TaskRequest<'_>,
    now: UnixMillis,
) -> Result<Vec<Candidate>> {
    let TaskRequest { workspace, agent, credential, method, target } = request;
    let decision = authorize::decide(credential, method, target);
    // All tools of a server share one URL.
    let is_tool = credential.options.mcp_url.is_some();
    if is_tool || !task::task_may_apply(&decision, authorize::policy_of(credential)) {
        return Ok(Vec::new());
    }
    let passkey_required = task::passkey_required(authorize::policy_of(credential));
    let (credential, credential_version) = (credential.row.id, credential.row.version);
    let wanted = TaskLookup {
        workspace,
        agent,
        credential,
        credential_version,
        method,
        target,
        passkey_required,
        now,
    };
    let mut found = Vec::new();
    for action in tasks::covering(store, &wanted).await? {
        // A condition that this version cannot read is met by nothing.
        let Ok(conditions) = task::conditions(&action.conditions()?) else { continue };
        found.push(Candidate { action, conditions });
    }
    Ok(found)
}

/// Claims one use of a task that covers the request, if one may replace the approval. Reads the body only if an action
/// has conditions on it, or if only the content asks, and puts it back. `sent` are the headers that the target gets.
pub(crate) async fn claim(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    body: &mut Option<Body>,
    sent: impl Fn() -> HeaderMap,
) -> Result<Option<AllowedBy>> {
    let now = state.now();
    let request = TaskRequest {
        workspace: asked.agent.workspace_id(),
        agent: asked.agent.id(),
        credential: asked.credential,
        method: asked.method,
        target: asked.target,
    };
    let mut seen = None;
    for Candidate { action, conditions } in candidates(&state.store, request, now).await? {
        if !conditions.is_empty() || matched.rule == Rule::Content {
            let (headers, bytes) = match seen.take() {
                Some(seen) => seen,
                None => (sent(), body::peek(&state.config, &state.held_bodies, body).await?),
            };
            let is_approved = content::is_approved(asked, conditions, &headers, &bytes).await?;
            seen = Some((headers, bytes));
            if !is_approved {
                continue;
            }
        }
        if let Some(claimed) = tasks::claim(&state.store, &action, now).await? {
            return Ok(Some(AllowedBy { task: Some(claimed), ..AllowedBy::rule(matched.clone()) }));
        }
    }
    Ok(None)
}
