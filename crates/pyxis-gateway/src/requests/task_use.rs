//! Uses of tasks in place of approvals.

use axum::body::Body;
use http::HeaderMap;
use pyxis_core::policy::Rule;
use pyxis_core::task;
use pyxis_store::tasks::{self, TaskLookup};

use crate::error::Result;
use crate::requests::authorization::{AllowedBy, Matched};
use crate::requests::validated_request::ValidatedRequest;
use crate::requests::{authorize, body, content};
use crate::runtime::state::State;

/// Claims one use of a task that covers the request, if one may replace the approval. Reads the body only if an action
/// has conditions on it, or if only the content asks, and puts it back. `sent` are the headers that the target gets.
pub(crate) async fn claim(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    body: &mut Option<Body>,
    sent: impl Fn() -> HeaderMap,
) -> Result<Option<AllowedBy>> {
    let (credential, now) = (asked.credential, state.now());
    let decision = authorize::decide(credential, asked.method, asked.target);
    // All tools of a server share one URL. No task is approved with a passkey.
    let is_tool = credential.options.mcp_url.is_some();
    if is_tool
        || authorize::passkey_required(credential)
        || !task::task_may_apply(&decision, authorize::policy_of(credential))
    {
        return Ok(None);
    }
    let wanted = TaskLookup {
        workspace: asked.agent.workspace_id(),
        agent: asked.agent.id(),
        credential: credential.row.id,
        credential_version: credential.row.version,
        method: asked.method.as_str(),
        target: asked.target,
        now,
    };
    let mut seen = None;
    for action in tasks::covering(&state.store, &wanted).await? {
        // A condition that this version cannot read is met by nothing.
        let Ok(conditions) = task::conditions(&action.conditions()?) else { continue };
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
