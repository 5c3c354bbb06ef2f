//! The message that begins a session: `initialize`, of a protocol version that has sessions.

use axum::body::{self, Body, HttpBody};
use axum::extract::Request;
use http::header::CONTENT_LENGTH;
use rmcp::model::NumberOrString;
use serde::{Deserialize, Serialize};

use crate::client_info::NEWEST;

/// Longest handshake, in bytes. A longer one begins no session.
const MAX_HANDSHAKE: usize = 64 * 1024;

/// The members of a handshake that matter here. The others would be kept for as long as the session, at many times
/// their length.
#[derive(Serialize, Deserialize)]
struct Handshake {
    jsonrpc: String,
    id: NumberOrString,
    method: String,
    params: HandshakeParams,
}

#[derive(Serialize, Deserialize)]
struct HandshakeParams {
    #[serde(rename = "protocolVersion")]
    version: String,
    capabilities: Capabilities,
    #[serde(rename = "clientInfo")]
    client: Client,
}

#[derive(Serialize, Deserialize)]
struct Capabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation: Option<Elicitation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    roots: Option<Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Capability>,
}

#[derive(Serialize, Deserialize)]
struct Elicitation {
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Capability>,
}

/// A capability that is declared by being there.
#[derive(Serialize, Deserialize)]
struct Capability {}

#[derive(Serialize, Deserialize)]
struct Client {
    name: String,
    version: String,
}

/// Tells if a request is a handshake. Returns a handshake with the members that matter, and any other request unchanged.
/// An error is a body that cannot be read.
pub(crate) async fn detect(request: Request) -> Result<(bool, Request), axum::Error> {
    if request.body().size_hint().lower() > MAX_HANDSHAKE as u64 {
        return Ok((false, request));
    }
    let (mut head, body) = request.into_parts();
    let bytes = body::to_bytes(body, MAX_HANDSHAKE).await?;
    let Some(handshake) = reduced(&bytes) else {
        return Ok((false, Request::from_parts(head, Body::from(bytes))));
    };
    head.headers.remove(CONTENT_LENGTH);
    Ok((true, Request::from_parts(head, Body::from(handshake))))
}

/// A handshake with the members that matter. `None` for any other message.
fn reduced(message: &[u8]) -> Option<Vec<u8>> {
    let message: Handshake = serde_json::from_slice(message).ok()?;
    let is_older = message.method == "initialize" && message.params.version.as_str() < NEWEST;
    if is_older { serde_json::to_vec(&message).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn handshake(method: &str, version: &str, capabilities: &Value) -> Value {
        let client = json!({"name": "older", "version": "3", "icons": [{"src": "data:,"}]});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client, "_meta": {"a": [1]}});
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    #[test]
    fn only_a_handshake_of_an_older_version_begins_a_session() {
        let message = |method: &str, version: &str| handshake(method, version, &json!({})).to_string();
        for (text, expected) in [
            (message("initialize", "2025-11-25"), true),
            (message("initialize", "2025-06-18"), true),
            (message("initialize", NEWEST), false),
            (message("initialize", "2027-01-01"), false),
            (message("tools/list", "2025-11-25"), false),
            (json!({"method": "initialize"}).to_string(), false),
            (json!([handshake("initialize", "2025-11-25", &json!({}))]).to_string(), false),
            ("{".to_owned(), false),
        ] {
            assert_eq!(reduced(text.as_bytes()).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn a_handshake_keeps_what_a_session_needs_and_nothing_else() {
        let declared = json!({
            "elicitation": {"url": {"more": [1]}}, "sampling": {"tools": {}}, "roots": {"listChanged": true},
            "experimental": {"x": {"l": [{"": 0}, {"": 0}]}}, "extensions": {"a/b": {}},
        });
        let text = handshake("initialize", "2025-11-25", &declared).to_string();
        let kept: Value = serde_json::from_slice(&reduced(text.as_bytes()).unwrap()).unwrap();
        let params = json!({
            "protocolVersion": "2025-11-25", "clientInfo": {"name": "older", "version": "3"},
            "capabilities": {"elicitation": {"url": {}}, "sampling": {}, "roots": {}},
        });
        assert_eq!(kept, json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    }
}
