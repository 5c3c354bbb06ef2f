//! MCP servers behind credentials (`docs/decisions/0015-call-tools-of-mcp-servers-as-forward-requests.md`): the list of
//! their tools, and the headers of a call.
//!
//! A server is asked with the credential's secret. Its allowed hosts, the egress guard and its policy's deny rules
//! apply, and the audit trail records it. A call to a tool is a request to `/forward` like any other.

mod exchange;
pub mod message;
mod wire_id;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use pyxis_core::actor::ActorId;
use pyxis_core::agent_client::MCP_SESSION;
use pyxis_core::clock::UnixMillis;
use pyxis_core::policy::PolicyVerdict;
use pyxis_core::target::Target;
use pyxis_store::Store;
use pyxis_store::mcp_tools::{self, McpToolRow};

use self::exchange::Exchange;
use super::outbound::{self, Outbound, UpstreamResponse};
use crate::credentials::requests::authorize;
use crate::error::{Error, Result};
use crate::runtime::mcp_cache::{CachedServer, McpCache, ServerSession, ServerTools};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// Longest time to ask a server for its tools.
const ASKING: Duration = Duration::from_secs(10);

/// Author of a list, for the audit trail.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) actor: ActorId,
    pub(crate) name: String,
}

/// The tools of a credential's server. Its newest definitions are stored before anyone reads them.
pub(crate) async fn tools(
    state: &State,
    credential: &ResolvedCredential,
    asker: &Asker,
) -> Result<Arc<ServerTools>> {
    server(state, credential, asker, |cached| cached.is_fresh(state.now())).await
}

/// Forgets the tools of a credential's server, so that it is asked again.
pub(crate) async fn forget(mcp_cache: &McpCache, credential: &ResolvedCredential) {
    *mcp_cache.slot(credential.row.id).lock().await = None;
}

/// Sends a request, with the headers of the session if the credential is one of an MCP server.
pub(crate) async fn dispatch(
    state: &State,
    asker: impl FnOnce() -> Asker + Send,
    mut outbound: Outbound<'_>,
    body: pyxis_net::Body,
) -> Result<UpstreamResponse> {
    let credential = outbound.credential;
    if credential.options.mcp_url.is_none() {
        return outbound::dispatch(state, outbound, body).await;
    }
    // Boxed: rare, and the common future stays small.
    let session = Box::pin(server(state, credential, &asker(), |_| true)).await?.session.clone();
    let has_session = session.id.is_some();
    attach(&session, &mut outbound.headers);
    let mut answer = Box::pin(wire_id::send(state, outbound, body)).await?;
    // Agents share the session, and none of them may speak in it.
    answer.headers.remove(MCP_SESSION);
    if has_session && answer.status == StatusCode::NOT_FOUND {
        forget(&state.mcp_cache, credential).await;
    }
    Ok(answer)
}

/// Adds the headers of a session.
fn attach(session: &ServerSession, headers: &mut HeaderMap) {
    if let Ok(version) = HeaderValue::try_from(&session.version) {
        headers.insert("mcp-protocol-version", version);
    }
    if let Some(id) = &session.id {
        headers.insert(MCP_SESSION, id.clone());
    }
}

/// The server as it answered last, if that is good enough, or as it answers now.
async fn server(
    state: &State,
    credential: &ResolvedCredential,
    asker: &Asker,
    is_good: impl Fn(&CachedServer) -> bool + Send,
) -> Result<Arc<ServerTools>> {
    let row = &credential.row;
    let url = credential.options.mcp_url.as_deref().ok_or(Error::not_found("MCP server"))?;
    let slot = state.mcp_cache.slot(row.id);
    let mut slot = slot.lock().await;
    if let Some(known) = slot.as_ref().filter(|known| known.is_of(row.version, url))
        && (known.is_fresh(state.now()) || known.answer.is_ok())
        && is_good(known)
    {
        return known.answer.clone().map_err(|why| Error::Upstream(why.into()));
    }
    let outcome = tokio::time::timeout(ASKING, fetch_tools(state, credential, url, asker)).await;
    let answer = match outcome.unwrap_or(Err(Error::UpstreamTimeout)) {
        Ok(tools) => {
            record(&state.store, state.now(), credential, &tools).await?;
            Ok(Arc::new(tools))
        }
        Err(error) => Err(error),
    };
    let kept = answer.as_ref().map(Arc::clone).map_err(Error::to_string);
    *slot = Some(CachedServer { version: row.version, url: url.to_owned(), at: state.now(), answer: kept });
    answer
}

async fn fetch_tools(
    state: &State,
    credential: &ResolvedCredential,
    url: &str,
    asker: &Asker,
) -> Result<ServerTools> {
    let target = Target::parse(url).map_err(|error| Error::InvalidTarget(error.to_string()))?;
    authorize::check_allowed_hosts(credential, &target)?;
    let decision = authorize::decide(credential, pyxis_core::policy::Method::Post, &target);
    if decision.verdict == PolicyVerdict::Deny {
        return Err(Error::DeniedByPolicy { pattern: decision.pattern.map(str::to_owned) });
    }
    state.net.check(&authorize::host_port(&target)).await?;
    Exchange::begin(state, credential, &target, asker).await?.list().await
}

/// Stores definitions that are new or changed. A tool that changed asks again from this moment on.
async fn record(
    store: &Store,
    now: UnixMillis,
    credential: &ResolvedCredential,
    listed: &ServerTools,
) -> Result<()> {
    let (workspace, id) = (credential.row.workspace_id, credential.row.id);
    let known = mcp_tools::list(store, workspace, id).await?;
    let is_known = |name: &str, fingerprint: &str| {
        known.iter().any(|row| row.name == name && row.seen_fingerprint == fingerprint && row.offered)
    };
    let seen: Vec<_> = listed.tools.iter().filter(|tool| !is_known(&tool.name, &tool.fingerprint)).collect();
    // Also those that were gone before, unless a person decided about them.
    let may_go = |row: &McpToolRow| row.offered || row.allowed_fingerprint.is_none();
    let gone: Vec<_> = known
        .iter()
        .filter(|row| may_go(row) && !listed.tools.iter().any(|tool| tool.name == row.name))
        .collect();
    if seen.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let mut tx = store.begin().await?;
    for tool in seen {
        let shown = pyxis_core::mcp_tool::canonical(&tool.shown);
        let tool = (tool.name.as_str(), tool.fingerprint.as_str(), shown.as_str());
        mcp_tools::see(&mut tx, workspace, id, tool, now).await?;
    }
    for row in gone {
        mcp_tools::miss(&mut tx, workspace, id, &row.name).await?;
    }
    tx.commit().await?;
    Ok(())
}
