//! The MCP server at `/mcp` (`docs/reference/mcp.md`): stored credentials as tools for agents.
//!
//! A thin translation. Every tool sends the request that an agent would send over HTTP. So policy, limits, audit,
//! approvals and scrubbing are those of `/forward` by construction. The protocol itself (2026-07-28 without
//! sessions, and the revisions before it) is that of the official Rust SDK.

mod agent_requests;
mod announcements;
mod answer;
mod arguments;
mod caller;
mod direct;
mod json_text;
mod long_responses;
mod pending;
mod proposed_task;
mod proxied;
mod server;
mod target_response;
mod task;
mod tools;

use std::sync::Arc;

use axum::{Router, middleware};
use pyxis_gateway as gateway;
use pyxis_gateway::Config;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;

use crate::caller::CallerCheck;

pub use crate::direct::PlainCalls;

/// Path of the server.
pub const PATH: &str = pyxis_core::agent_client::MCP_PATH;

/// Longest message of a client, in bytes. A body that waits for approval may have 10 MiB, which base64 or escapes make
/// longer.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// The route of a server. Callers prove with their key or token which agent they are before a message is read. Those
/// without one are sent to the consent page, if this process has it.
///
/// The official test suite mounts a server of its own: it needs tools that Pyxis does not have, and the same layers.
pub fn mount<S: ServerHandler + Clone>(
    gateway: &gateway::State,
    has_consent_page: bool,
    server: S,
) -> Router {
    let check = middleware::from_fn_with_state(check(gateway, has_consent_page), caller::identify);
    service(&gateway.config, server).layer(check)
}

fn check(gateway: &gateway::State, has_consent_page: bool) -> CallerCheck {
    CallerCheck { gateway: gateway.clone(), has_consent_page }
}

/// The protocol, as the SDK speaks it.
fn service<S: ServerHandler + Clone>(config: &Config, server: S) -> Router {
    let allowed = std::iter::once(&config.base_url).chain(&config.mcp_origins);
    // The host name is not checked: without a key a page that was rebound to this address gets nothing.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE)
        .disable_allowed_hosts()
        .with_allowed_origins(allowed.filter_map(|url| origin(url)))
        .enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new().route_service(PATH, service)
}

/// The origin of a URL with its port.
fn origin(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    Some(format!("{}://{}:{}", url.scheme(), url.host_str()?, url.port_or_known_default()?))
}
