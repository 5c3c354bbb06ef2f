//! The message that begins a session: `initialize`, of a protocol version that has sessions.

use axum::body::{self, Body, HttpBody};
use axum::extract::Request;
use serde::Deserialize;

use crate::client_info::NEWEST;

/// Longest handshake, in bytes. A longer one begins no session.
const MAX_HANDSHAKE: usize = 64 * 1024;

#[derive(Deserialize)]
struct Handshake<'a> {
    method: &'a str,
    #[serde(borrow)]
    params: Parameters<'a>,
}

#[derive(Deserialize)]
struct Parameters<'a> {
    #[serde(rename = "protocolVersion")]
    version: &'a str,
}

/// Tells if a request is a handshake, and returns it unchanged. An error is a body that cannot be read.
pub(crate) async fn detect(request: Request) -> Result<(bool, Request), axum::Error> {
    // The length is unknown of a body that comes in chunks. No known client sends its handshake so.
    let length = request.body().size_hint().exact();
    if length.is_none_or(|length| length > MAX_HANDSHAKE as u64) {
        return Ok((false, request));
    }
    let (head, body) = request.into_parts();
    let bytes = body::to_bytes(body, MAX_HANDSHAKE).await?;
    Ok((is_handshake(&bytes), Request::from_parts(head, Body::from(bytes))))
}

fn is_handshake(message: &[u8]) -> bool {
    serde_json::from_slice::<Handshake<'_>>(message)
        .is_ok_and(|message| message.method == "initialize" && message.params.version < NEWEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_handshake_of_an_older_version_begins_a_session() {
        let message = |method: &str, version: &str| {
            let params = json!({"protocolVersion": version, "capabilities": {}});
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
        };
        for (text, expected) in [
            (message("initialize", "2025-11-25"), true),
            (message("initialize", "2025-06-18"), true),
            (message("initialize", NEWEST), false),
            (message("initialize", "2027-01-01"), false),
            (message("tools/list", "2025-11-25"), false),
            (json!({"method": "initialize"}).to_string(), false),
            (json!([message("initialize", "2025-11-25")]).to_string(), false),
            ("{".to_owned(), false),
        ] {
            assert_eq!(is_handshake(text.as_bytes()), expected, "{text}");
        }
    }
}
