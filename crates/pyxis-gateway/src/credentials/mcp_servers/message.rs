//! Messages to and from MCP servers: JSON-RPC over HTTP, answered as JSON or as a stream of events.

mod search;

use serde_json::{Value, json};

pub use self::search::AnswerSearch;

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
    AnswerSearch::default().find(body)
}

fn is_answer(message: &Value) -> bool {
    message["jsonrpc"] == "2.0"
        && message["id"] == ID
        && (message["result"].is_object() || message["error"].is_object())
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
    fn the_answer_is_found_at_the_same_byte_however_the_body_is_cut() {
        let message = json!({"jsonrpc": "2.0", "id": ID, "result": {"text": "a } \"\\ {"}}).to_string();
        let other = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
        let stream = format!("event: a\r\ndata: {other}\r\n\r\ndata:{message}\n\ndata: {message}\n\n");
        for body in [message.clone(), format!("\n {message} \n"), stream] {
            let whole = answer(body.as_bytes());
            assert!(whole.is_some(), "{body}");
            for size in 1..9 {
                let mut search = AnswerSearch::default();
                let mut cuts = (0..body.len()).step_by(size).chain([body.len()]);
                let found = cuts.find_map(|end| search.find(&body.as_bytes()[..end]));
                assert_eq!(found, whole, "{size}: {body}");
            }
        }
    }

    #[test]
    fn every_byte_of_a_long_body_is_read_a_bounded_number_of_times() {
        let event = format!("data: {}\n\n", json!({"jsonrpc": "2.0", "method": "a"}));
        let stream = event.repeat(2000);
        let object = format!("{{\"a\":\"{}\"", "x".repeat(stream.len()));
        for body in [stream, object, "data: x\n".repeat(10_000)] {
            let mut search = AnswerSearch::default();
            for end in (0..body.len()).step_by(16) {
                assert_eq!(search.find(&body.as_bytes()[..end]), None);
            }
            assert!(search.work() <= 2 * body.len(), "{} of {}", search.work(), body.len());
        }
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
