//! The short way for the message that agents send most: one plain use of the tool `call`, in the newest protocol.
//!
//! The SDK gives each message a service, two channels and a task, which costs more than the call itself. This way takes
//! only a message that has every usual header and member and no other. All others, wrong ones included, go to the SDK,
//! which knows the whole protocol. The answers are the same.

use axum::body::{self, Body};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use rmcp::model::{
    ClientCapabilities, Implementation, JsonObject, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde::Deserialize;

use crate::caller::McpCaller;
use crate::server::{ClientInfo, McpServer, NEWEST};

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

/// A call with its usual members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    method: String,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    name: String,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: String,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    client: Implementation,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: ClientCapabilities,
}

/// Answers a plain call, and hands every other message on.
pub(crate) async fn answer(State(server): State<McpServer>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !is_usual(request.headers()) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(bytes) = body::to_bytes(body, MAX_MESSAGE).await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    match (head.extensions.get::<McpCaller>(), read(&bytes)) {
        (Some(caller), Some(message)) => respond(&server, caller, message).await,
        _ => next.run(Request::from_parts(head, Body::from(bytes))).await,
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
        && !headers.keys().any(|name| name.as_str().starts_with("mcp-param-") || name == "mcp-session-id")
}

fn read(bytes: &Bytes) -> Option<Message> {
    let message: Message = serde_json::from_slice(bytes).ok()?;
    let fits =
        message.method == METHOD && message.params.name == TOOL && message.params.meta.version == NEWEST;
    fits.then_some(message)
}

async fn respond(server: &McpServer, caller: &McpCaller, message: Message) -> Response {
    let Params { arguments, meta: Meta { client, capabilities, .. }, .. } = message.params;
    let client = ClientInfo::newest(&client, Some(capabilities));
    let answer = match server.call(&client, caller, arguments, None).await {
        Ok(result) => ServerJsonRpcMessage::response(ServerResult::from(result), message.id),
        Err(error) => ServerJsonRpcMessage::error(error, Some(message.id)),
    };
    let body = serde_json::to_vec(&answer).unwrap_or_else(|error| {
        tracing::error!(%error, "cannot write an MCP response");
        b"{}".to_vec()
    });
    ([(CONTENT_TYPE, JSON)], body).into_response()
}
