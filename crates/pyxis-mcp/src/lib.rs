//! The MCP server at `/mcp` (`docs/reference/mcp.md`): stored credentials as tools for agents.
//!
//! A thin translation. Every tool sends the request that an agent would send over HTTP. So policy, limits, audit,
//! approvals and scrubbing are those of `/forward` by construction. The protocol itself (2026-07-28 without
//! sessions, and the revisions before it with optional ones) is that of the official Rust SDK.

mod agent_requests;
mod announcements;
mod answer;
mod approval_page;
mod arguments;
mod caller;
mod client_info;
mod direct;
mod handshake;
mod json_text;
mod long_responses;
mod message_form;
mod message_limits;
mod pending;
mod proposed_task;
mod proxied;
mod response_stream;
mod server;
mod session_limits;
mod session_registry;
mod sessions;
mod target_response;
mod task;
mod tools;

use std::sync::Arc;

use axum::extract::Request;
use axum::routing::any;
use axum::{Router, middleware};
use pyxis_gateway as gateway;
use pyxis_gateway::Config;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio::sync::watch;

use crate::caller::CallerCheck;
use crate::sessions::Sessions;

pub use crate::direct::PlainCalls;
pub use crate::response_stream::ResponseStream;

/// Path of the server.
pub const PATH: &str = pyxis_core::agent_client::MCP_PATH;

/// Longest message of a client, in bytes. A body that waits for approval may have 10 MiB, which base64 or escapes make
/// longer.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// The route of a server. Callers prove with their key or token which agent they are before a message is read. Those
/// without one are sent to the consent page, if this process has it. Streams that would never finish end once `stopped`
/// is true.
///
/// The official test suite mounts a server of its own: it needs tools that Pyxis does not have, and the same layers.
pub fn mount<S: ServerHandler + Clone>(
    gateway: &gateway::State,
    has_consent_page: bool,
    stopped: watch::Receiver<bool>,
    server: &S,
) -> Router {
    let check = CallerCheck { gateway: gateway.clone(), has_consent_page };
    let sessions = Arc::new(Sessions::new(gateway.clone(), stopped, &protocol(&gateway.config), server));
    let answer = move |request: Request| {
        let sessions = Arc::clone(&sessions);
        async move { sessions.answer(request).await }
    };
    Router::new().route(PATH, any(answer)).layer(middleware::from_fn_with_state(check, caller::identify))
}

/// Settings of the SDK that hold with sessions and without.
fn protocol(config: &Config) -> StreamableHttpServerConfig {
    let allowed = std::iter::once(&config.base_url).chain(&config.mcp_origins);
    // The host name is not checked: without a key a page that was rebound to this address gets nothing.
    StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MAX_MESSAGE)
        .disable_allowed_hosts()
        .with_allowed_origins(allowed.filter_map(|url| origin(url)))
        .enforce_origin_validation()
}

/// The origin of a URL with its port.
fn origin(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    Some(format!("{}://{}:{}", url.scheme(), url.host_str()?, url.port_or_known_default()?))
}
