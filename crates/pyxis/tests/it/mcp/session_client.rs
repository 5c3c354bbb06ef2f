//! Clients of versions before the newest, which begin sessions and read streams of events.

use serde_json::{Value, json};

use super::client::Mcp;
use crate::support::response::StreamedResponse;
use crate::support::{Call, HttpResponse};

/// The response to the handshake of a client with these capabilities.
pub(super) async fn handshake(mcp: &Mcp, version: &str, capabilities: Value) -> HttpResponse {
    let params = json!({
        "protocolVersion": version, "capabilities": capabilities,
        "clientInfo": {"name": "older", "version": "3"},
    });
    mcp.request("initialize", &params).send().await.expect(200)
}

/// A client of this version in a session.
pub(super) async fn begin(mcp: &Mcp, version: &'static str, capabilities: Value) -> Mcp {
    let mcp = mcp.speaking(version);
    let begun = handshake(&mcp, version, capabilities).await;
    let mcp = mcp.in_session(begun.header("mcp-session-id").expect("a session"));
    let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    mcp.request_of(&noted).send().await.expect(202);
    mcp
}

/// A client of 2025-11-25 in a session, without capabilities.
pub(super) async fn begin_plain(mcp: &Mcp) -> Mcp {
    begin(mcp, "2025-11-25", json!({})).await
}

/// An open stream of events.
pub(super) struct Events {
    opened: StreamedResponse,
    text: String,
}

impl Events {
    pub(super) async fn open(call: Call) -> Self {
        let opened = call.open().await;
        assert_eq!(opened.status, 200);
        assert_eq!(opened.headers["content-type"], "text/event-stream");
        Self { opened, text: String::new() }
    }

    /// The next message. `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data:"));
                let message = data.and_then(|data| serde_json::from_str(data).ok());
                if message.is_some() {
                    return message;
                }
            }
            let chunk = self.opened.chunk().await?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}
