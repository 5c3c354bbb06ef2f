//! Messages to and from MCP servers: JSON-RPC over HTTP, answered as JSON or as a stream of events.

use serde_json::{Value, json};

/// Id of every message, except on the wire. Equal calls must have equal bodies: they are one request to approve.
pub const ID: &str = "pyxis-tool-call";
/// Protocol version of the messages.
pub const VERSION: &str = "2026-07-28";

/// A message of the newest protocol version, which older servers read as well.
pub fn request(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "pyxis", "version": env!("CARGO_PKG_VERSION") },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": ID, "method": method, "params": params })
}

/// The answer to [`request`] in a body. `None` if it is not there (yet), or the body is something else.
pub fn answer(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).ok().filter(is_answer);
    }
    events(text).find_map(|data| serde_json::from_str(&data).ok().filter(is_answer))
}

fn is_answer(message: &Value) -> bool {
    message["jsonrpc"] == "2.0"
        && message["id"] == ID
        && (message["result"].is_object() || message["error"].is_object())
}

/// Data of the complete events of a stream. (<https://html.spec.whatwg.org/multipage/server-sent-events.html>)
fn events(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\r\n", "\n");
    let end = text.rfind("\n\n").map_or(0, |end| end + 1);
    let blocks: Vec<String> = text[..end]
        .split("\n\n")
        .map(|block| {
            let data = block.lines().filter_map(|line| line.strip_prefix("data:"));
            data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
        })
        .collect();
    blocks.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_found_in_json_and_among_events_once_it_is_whole() {
        let message = json!({"jsonrpc": "2.0", "id": ID, "result": {"content": []}}).to_string();
        assert!(answer(message.as_bytes()).is_some());
        let stream = format!(
            ": hello\r\n\r\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\r\n\r\nevent: message\r\ndata: {message}\r\n\r\n"
        );
        assert!(answer(stream.as_bytes()).is_some());
        assert!(answer(&stream.as_bytes()[..stream.len() - 6]).is_none(), "the event has not ended");
    }

    #[test]
    fn anything_else_is_no_answer() {
        for other in [
            r#"{"jsonrpc":"2.0","id":"other","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"pyxis-tool-call","result":1}"#,
            r#"{"id":"pyxis-tool-call","result":{}}"#,
            "<html>",
            "",
        ] {
            assert_eq!(answer(other.as_bytes()), None, "{other}");
        }
    }
}
