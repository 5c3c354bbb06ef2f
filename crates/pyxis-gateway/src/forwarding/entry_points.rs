//! Functions for the interfaces in front of `/forward`: identify an agent, and explain a request.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_store::{Store, StoreEvent};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::timeout;

use crate::admin::explanation;
pub use crate::admin::explanation::{ExplainedRequest, Explanation, SentParts};
pub use crate::credentials::requests::caller::CallerKey;
use crate::credentials::requests::control;
use crate::error::{Error, Result};
use crate::identity::connections::{is_access_token, run_tokens};
use crate::runtime::last_used::LastUsedBuffer;
use crate::runtime::resolve::ResolvedAgent;
use crate::runtime::state::State;

/// Time after which the key of an open stream is checked again.
const RECHECK: Duration = Duration::from_mins(1);

/// An authenticated agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentIdentity {
    pub id: AgentId,
    pub workspace: WorkspaceId,
    pub name: String,
    /// Name of the connected program, if it came with an access token.
    pub connected_program: Option<String>,
    /// Stands for the agent's key in requests made inside this process.
    pub key: CallerKey,
}

/// The enabled agent that a bearer token belongs to: an agent key, or an access token of a connected program.
///
/// Only the MCP server calls this, so that an access token is good there and nowhere else.
pub async fn authenticate(state: &State, bearer: &str) -> Result<AgentIdentity> {
    let (agent, key, connected_program) = resolve(state, bearer).await?;
    Ok(identity(&state.last_used, state.now(), &agent, key, connected_program))
}

/// Resolves once `bearer` is refused, for a stream that outlives its request. Checks again after each change of
/// configuration, and every minute. A failure of the database is no refusal.
pub async fn until_refused(state: &State, bearer: &SecretString) {
    let mut events = state.store.subscribe();
    while !matches!(resolve(state, bearer.expose()).await, Err(Error::InvalidKey | Error::MissingKey)) {
        // A token may also expire.
        drop(timeout(RECHECK, configuration_change(&mut events)).await);
    }
}

async fn configuration_change(events: &mut broadcast::Receiver<StoreEvent>) {
    loop {
        match events.recv().await {
            Ok(StoreEvent::Configuration) | Err(RecvError::Lagged(_)) => return,
            Ok(_) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

async fn resolve(state: &State, bearer: &str) -> Result<(Arc<ResolvedAgent>, CallerKey, Option<String>)> {
    let (key, connected_program) = if is_access_token(bearer) {
        of_token(&state.store, state.now(), bearer).await?
    } else {
        (CallerKey::digest(bearer), None)
    };
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    Ok((agent, key, connected_program))
}

/// The agent that an agent key belonged to when configuration was last read. It may be stale: only for a request that
/// [`forward`](crate::forward) judges next, which compares it with the store.
pub fn cached_agent(state: &State, bearer: &str) -> Option<AgentIdentity> {
    let key = CallerKey::digest(bearer);
    let agent = state.config_cache.cached_agent(key)?;
    Some(identity(&state.last_used, state.now(), &agent, key, None))
}

fn identity(
    last_used: &LastUsedBuffer,
    now: UnixMillis,
    agent: &ResolvedAgent,
    key: CallerKey,
    connected_program: Option<String>,
) -> AgentIdentity {
    last_used.note_agent(agent.id(), now);
    AgentIdentity {
        id: agent.id(),
        workspace: agent.workspace_id(),
        name: agent.row.name.clone(),
        connected_program,
        key,
    }
}

/// The caller of an endpoint that `pyxis run` uses: besides agent keys, it takes the token of a run.
pub(crate) async fn caller_of_run(store: &Store, now: UnixMillis, head: &Parts) -> Result<CallerKey> {
    match head.extensions.get() {
        Some(key) => Ok(*key),
        None => run_tokens::agent_of(store, now, control::key(&head.headers)?).await.map(CallerKey),
    }
}

async fn of_token(store: &Store, now: UnixMillis, token: &str) -> Result<(CallerKey, Option<String>)> {
    let (key, program) = run_tokens::holder(store, now, token).await?;
    Ok((CallerKey(key), Some(program)))
}

/// Explains a request without sending it. A credential that the agent may not use is as unknown as one
/// that does not exist.
pub async fn explain(
    state: &State,
    key: CallerKey,
    credential: &str,
    request: ExplainedRequest<'_>,
) -> Result<Explanation> {
    let agent = state.config_cache.agent_now(&state.store, key).await?;
    let credential = agent.credential(&state.store, credential).await?;
    let (workspace, name) = (agent.workspace_id(), &credential.row.name);
    let request = ExplainedRequest { agent: Some(&agent.row.name), ..request };
    explanation::explain(state, workspace, name, &request).await
}
