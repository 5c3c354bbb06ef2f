//! The short way for the message that agents send most: one plain use of the tool `call`, in the newest protocol.
//!
//! The SDK gives each message a service, two channels and a task, and the router a layer for each rule. That costs more
//! than the call itself. This way takes only a message that has every usual header and member and no other. All others,
//! wrong ones included, go to the router and the SDK, which know the whole protocol. The answers are the same.

use axum::Router;
use axum::body::{self, Body};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use pyxis_core::agent_client::MCP_SESSION;
use pyxis_gateway as gateway;
use pyxis_gateway::entry_points;
use rmcp::model::{
    ClientCapabilities, Implementation, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage, ServerResult,
};
use serde::Deserialize;
use tokio::sync::watch;

use crate::agent_requests::AgentRequests;
use crate::answer::{ForwardOutcome, ProxyResponse};
use crate::arguments::{Call, CallArguments};
use crate::caller::{McpCaller, bearer};
use crate::client_info::{ClientInfo, NEWEST};
use crate::message_limits::has_too_many_values;
use crate::server::McpServer;

/// Longest message that takes this way, in bytes.
const MAX_MESSAGE: usize = 1024 * 1024;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Headers whose value must be this one.
const HEADERS: [(&str, &str); 5] = [
    ("accept", "application/json, text/event-stream"),
    ("content-type", "application/json"),
    ("mcp-protocol-version", NEWEST),
    ("mcp-method", METHOD),
    ("mcp-name", TOOL),
];
const METHOD: &str = "tools/call";
const TOOL: &str = "call";
/// Code of the refusal of a key that belongs to no enabled agent.
const UNKNOWN_KEY: &str = "invalid_key";

/// A call with its usual members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: &'a str,
    arguments: CallArguments,
    #[serde(rename = "_meta", borrow)]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    client: Implementation,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: ClientCapabilities,
}

/// A call that was read.
struct PlainCall {
    id: RequestId,
    client: ClientInfo,
    call: Call,
}

/// The server, with the short way in front of its route.
#[derive(Clone)]
pub struct PlainCalls {
    pub(crate) server: McpServer,
}

impl PlainCalls {
    /// The server of this proxy.
    pub fn new(gateway: &gateway::State) -> Self {
        Self { server: McpServer::new(AgentRequests::new(gateway.clone())) }
    }

    /// The route for all messages. It shares its limits with the short way. Streams that would never finish end once
    /// `stopped` is true.
    pub fn router(&self, has_consent_page: bool, stopped: watch::Receiver<bool>) -> Router {
        crate::mount(&self.server.requests.gateway, has_consent_page, stopped, &self.server)
    }

    /// Answers a plain call. Gives every other request back as it came, for the route.
    ///
    /// The caller is known by the cached configuration. It is compared with the stored one where the call is recorded or
    /// refused, and no other answer leaves from here. The route refuses a key that is no longer known.
    pub async fn answer(&self, request: Request) -> Result<Response, Request> {
        let state = &self.server.requests.gateway;
        let is_usual = request.method() == Method::POST && is_usual(request.headers());
        let agent = bearer(request.headers()).filter(|_| is_usual);
        let Some(agent) = agent.and_then(|key| entry_points::cached_agent(state, &key)) else {
            return Err(request);
        };
        let (head, body) = request.into_parts();
        let Ok(bytes) = body::to_bytes(body, MAX_MESSAGE).await else {
            return Ok(StatusCode::BAD_REQUEST.into_response());
        };
        let caller = McpCaller::new(agent, &head.headers);
        let message = if has_too_many_values(&bytes) { None } else { read(&bytes) };
        let answer = match message {
            Some(message) => self.send(&caller, message).await,
            None => None,
        };
        answer.ok_or_else(|| Request::from_parts(head, Body::from(bytes)))
    }

    /// Sends a call. `None`, and nothing was sent, if the key of the caller is no longer one.
    async fn send(&self, caller: &McpCaller, message: PlainCall) -> Option<Response> {
        let PlainCall { id, client, call } = message;
        let answer = match self.server.forward(&client, caller, &call).await {
            Ok(ForwardOutcome::Sent(response)) => return Some(written(response.message(&id))),
            Ok(ForwardOutcome::Other(answer)) if is_unknown_key(&answer) => return None,
            Ok(ForwardOutcome::Other(answer)) => self.server.respond(&client, caller, &call, answer).await,
            Err(error) => Err(error),
        };
        let answer = match answer {
            Ok(result) => ServerJsonRpcMessage::response(ServerResult::from(result), id),
            Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
        };
        Some(written(serde_json::to_vec(&answer)))
    }
}

/// True if the headers are those of a plain call, once each, and its length is known and small.
fn is_usual(headers: &HeaderMap) -> bool {
    let only = |name: &str| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())
    };
    let length = only(CONTENT_LENGTH.as_str()).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length <= MAX_MESSAGE)
        && HEADERS.iter().all(|(name, value)| only(name).is_some_and(|given| given == value))
        && !headers.contains_key(ORIGIN)
        && !headers.keys().any(|name| name.as_str().starts_with("mcp-param-") || name == MCP_SESSION)
}

fn read(bytes: &Bytes) -> Option<PlainCall> {
    let Message { id, method, params, .. } = serde_json::from_slice(bytes).ok()?;
    let Params { name, arguments, meta: Meta { version, client, capabilities } } = params;
    if method != METHOD || name != TOOL || version != NEWEST {
        return None;
    }
    let call = Call::check(arguments).ok()?;
    Some(PlainCall { id, client: ClientInfo::newest(&client, Some(capabilities)), call })
}

/// True for the refusal of a key that belongs to no enabled agent.
fn is_unknown_key(answer: &ProxyResponse) -> bool {
    let ProxyResponse::Final(result) = answer else { return false };
    result.structured_content.as_ref().is_some_and(|data| data["code"] == UNKNOWN_KEY)
}

fn written(body: serde_json::Result<Vec<u8>>) -> Response {
    let body = body.unwrap_or_else(|error| {
        tracing::error!(%error, "cannot write an MCP response");
        b"{}".to_vec()
    });
    ([(CONTENT_TYPE, JSON)], body).into_response()
}
