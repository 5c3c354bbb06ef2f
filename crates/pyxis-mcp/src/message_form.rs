//! Faults in the form of a message, answered with JSON-RPC errors. The SDK answers them in plain text, or as methods that
//! it does not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::client_info::{NEWEST, VERSIONS};

const JSON: &str = "application/json";
/// Header with the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// Refusal of JSON that is not a message.
const NO_MESSAGE: &str = "not a JSON-RPC 2.0 message: send one object with `jsonrpc` \"2.0\", a string `method`, an object \
    `params`, and for a request an `id` that is a string or an integer";

/// Form of a message, seen before the SDK reads it.
#[derive(Default)]
pub(crate) struct MessageForm {
    is_json: bool,
    is_newest: bool,
    /// Version in the header, and the id of the message, if this server does not speak the version.
    unspoken: Option<(String, Value)>,
    parameters: BadParameters,
}

/// True once the parameters of a known method could not be read. Travels in the extensions of a request.
#[derive(Clone, Default)]
pub(crate) struct BadParameters(Arc<AtomicBool>);

impl BadParameters {
    /// Records it for the answer to this request.
    pub(crate) fn record(context: &RequestContext<RoleServer>) {
        let head = context.extensions.get::<Parts>();
        if let Some(Self(is_bad)) = head.and_then(|head| head.extensions.get()) {
            is_bad.store(true, Ordering::Relaxed);
        }
    }
}

/// A body that is not JSON.
pub(crate) struct NotJson(serde_json::Error);

impl IntoResponse for NotJson {
    fn into_response(self) -> Response {
        let (line, column) = (self.0.line(), self.0.column());
        let detail = format!("the body is not JSON: look at line {line} column {column}");
        let error = ErrorData::parse_error(detail, None);
        refusal(&Value::Null, &error)
    }
}

/// The member of a message that its answer repeats.
#[derive(Deserialize)]
struct Numbered {
    #[serde(default)]
    id: Value,
}

impl MessageForm {
    /// Reads the form of a message.
    pub(crate) fn read(head: &mut Parts, body: &[u8]) -> Result<Self, NotJson> {
        if head.method != Method::POST || !is_json(&head.headers) {
            return Ok(Self::default());
        }
        serde_json::from_slice::<IgnoredAny>(body).map_err(NotJson)?;
        let version = head.headers.get(VERSION).and_then(|version| version.to_str().ok());
        let unspoken = version.filter(|version| !VERSIONS.iter().any(|spoken| spoken.as_str() == *version));
        let form = Self {
            is_json: true,
            is_newest: version == Some(NEWEST),
            unspoken: unspoken.map(|version| (version.to_owned(), id_of(body))),
            parameters: BadParameters::default(),
        };
        head.extensions.insert(form.parameters.clone());
        Ok(form)
    }

    /// The answer of the SDK, or a JSON-RPC error in its place.
    pub(crate) fn corrected(self, mut response: Response) -> Response {
        match response.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE if self.is_json => {
                refusal(&Value::Null, &ErrorData::invalid_request(NO_MESSAGE, None))
            }
            StatusCode::BAD_REQUEST if !is_json(response.headers()) => match self.unspoken {
                Some((version, id)) => refusal(&id, &unspoken(&version)),
                None => response,
            },
            StatusCode::OK if self.is_newest && self.parameters.0.load(Ordering::Relaxed) => {
                *response.status_mut() = StatusCode::BAD_REQUEST;
                response
            }
            _ => response,
        }
    }
}

/// Form of the parameters of a method that the server has. `None` for any other method.
pub(crate) fn parameters_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "an object with `protocolVersion`, `capabilities` and `clientInfo`",
        "server/discover" => "an object",
        "tools/list" | "resources/list" | "resources/templates/list" => {
            "an object; `cursor`, a string, is optional"
        }
        "tools/call" => {
            "an object with the string `name`; the object `arguments` and the string `requestState` are optional"
        }
        "resources/read" => "an object with the string `uri`",
        "tasks/get" | "tasks/cancel" => "an object with the string `taskId`",
        "tasks/update" => "an object with the string `taskId` and the object `inputResponses`",
        _ => return None,
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
}

/// The id of a message, or null.
fn id_of(body: &[u8]) -> Value {
    let id = serde_json::from_slice::<Numbered>(body).map(|message| message.id).unwrap_or_default();
    if id.is_string() || id.is_i64() { id } else { Value::Null }
}

fn unspoken(version: &str) -> ErrorData {
    let requested: String = version.chars().take(100).collect();
    let supported: Vec<&str> = VERSIONS.iter().map(ProtocolVersion::as_str).collect();
    let mut error = ErrorData::invalid_request(
        format!("Unsupported protocol version in MCP-Protocol-Version: {requested}"),
        Some(json!({ "requested": requested, "supported": supported })),
    );
    error.code = rmcp::model::ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
    error
}

fn refusal(id: &Value, error: &ErrorData) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, JSON)], Body::from(body)).into_response()
}
