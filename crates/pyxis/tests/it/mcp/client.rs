//! The smallest MCP client that lets a test say every header and member itself.

use serde_json::{Value, json};

use crate::support::{App, Call, Client, HttpResponse, Site};

pub(super) const NEWEST: &str = "2026-07-28";

/// A client of one protocol version.
#[derive(Clone)]
pub(super) struct Mcp {
    client: Client,
    version: &'static str,
    capabilities: Value,
}

impl Mcp {
    /// A client of the newest version, with the key of the default agent.
    pub(super) fn new(site: &Site) -> Self {
        Self::for_key(&site.app, site.app.bootstrap["agent_key"].as_str().unwrap())
    }

    /// A client of the newest version, with this key.
    pub(super) fn for_key(app: &App, key: &str) -> Self {
        Self::at(app.anonymous(), key)
    }

    /// A client of the newest version, with this key, of the server that `anonymous` talks to.
    pub(super) fn at(anonymous: Client, key: &str) -> Self {
        let client = anonymous.with("authorization", &format!("Bearer {key}"));
        Self { client, version: NEWEST, capabilities: json!({}) }
    }

    /// The same, with another key.
    pub(super) fn with_key(&self, key: &str) -> Self {
        Self { client: self.client.clone().with("authorization", &format!("Bearer {key}")), ..self.clone() }
    }

    /// The same, in a session.
    pub(super) fn in_session(&self, id: &str) -> Self {
        Self { client: self.client.clone().with("mcp-session-id", id), ..self.clone() }
    }

    /// A request without a message: `GET` opens a stream, `DELETE` ends the session.
    pub(super) fn bare(&self, method: &str) -> Call {
        let call = self.client.call(method, "/mcp").header("accept", "text/event-stream");
        call.header("mcp-protocol-version", self.version)
    }

    /// The same, speaking another version.
    pub(super) fn speaking(&self, version: &'static str) -> Self {
        Self { version, ..self.clone() }
    }

    /// The same, with other capabilities.
    pub(super) fn able(&self, capabilities: Value) -> Self {
        Self { capabilities, ..self.clone() }
    }

    /// A message as this version sends it.
    pub(super) fn message(&self, method: &str, params: &Value) -> Value {
        let mut params = params.clone();
        if self.version == NEWEST {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": {"name": "a-test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    }

    /// A request whose headers fit its message.
    pub(super) fn request(&self, method: &str, params: &Value) -> Call {
        self.request_of(&self.message(method, params))
    }

    /// A request with this message, which may be a response, without headers that repeat it.
    pub(super) fn request_with(&self, message: &Value) -> Call {
        let call = self.client.post("/mcp", message).header("accept", "application/json, text/event-stream");
        call.header("mcp-protocol-version", self.version)
    }

    /// A request with this message, whose headers fit it.
    pub(super) fn request_of(&self, message: &Value) -> Call {
        let (method, params) = (message["method"].as_str().unwrap(), &message["params"]);
        let call = self.request_with(message);
        if self.version != NEWEST {
            return call;
        }
        let call = call.header("mcp-method", method);
        match ["name", "taskId", "uri"].into_iter().find_map(|member| params[member].as_str()) {
            Some(name) => call.header("mcp-name", name),
            None => call,
        }
    }

    /// The result of a method. Panics on an error.
    pub(super) async fn result(&self, method: &str, params: &Value) -> Value {
        let answer = message_of(&self.request(method, params).send().await.expect(200));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The result of a tool.
    pub(super) async fn tool(&self, name: &str, arguments: Value) -> Value {
        self.result("tools/call", &json!({"name": name, "arguments": arguments})).await
    }

    /// The result of `call` with the credential `api`.
    pub(super) async fn forward(&self, site: &Site, method: &str, path: &str) -> Value {
        self.tool("call", forwarded(site, method, path)).await
    }
}

/// Arguments of `call` with the credential `api`.
pub(super) fn forwarded(site: &Site, method: &str, path: &str) -> Value {
    let mut arguments = json!({"credential": "api", "method": method, "url": site.upstream.url(path)});
    if method == "POST" {
        arguments["body"] = json!({"title": "a body to approve"});
        arguments["reason"] = json!("to test");
    }
    arguments
}

/// The JSON-RPC message of an answer, whether it came as JSON or as an event.
pub(super) fn message_of(answer: &HttpResponse) -> Value {
    let text = answer.text();
    let json = text.lines().rev().find_map(|line| line.strip_prefix("data:")).unwrap_or(&text);
    serde_json::from_str(json).unwrap_or_else(|_| panic!("no message: {answer:?}"))
}

/// The text of a result.
pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
