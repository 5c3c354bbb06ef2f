//! Lifetime of the state that a client carries while a person decides.

use std::time::Duration;

use axum::body::Body;
use http::{Method, Response};
use http_body_util::BodyExt;
use pyxis_gateway::Config;
use pyxis_mcp::PlainCalls;
use pyxis_testkit::database::TestDatabase;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt;

use super::client::NEWEST;
use crate::races::proxy::Proxy;

/// Result or error of `call` with these further parameters, for a client that opens pages.
async fn call(proxy: &Proxy, further: &Value) -> Value {
    let mut params = json!({
        "name": "call",
        "arguments": {"credential": "api", "method": "POST", "url": proxy.upstream.url("/things")},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEWEST,
            "io.modelcontextprotocol/clientInfo": {"name": "a-test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
        },
    });
    for (name, value) in further.as_object().unwrap() {
        params[name] = value.clone();
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let request = proxy
        .agent(Method::POST, "/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", NEWEST)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "call")
        .body(Body::from(message.to_string()))
        .unwrap();
    let response: Response<Body> =
        PlainCalls::new(&proxy.state).router(false, watch::channel(false).1).oneshot(request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap_or_else(|_| panic!("no message: {body:?}"))
}

#[tokio::test]
async fn a_state_is_good_for_a_day_and_no_longer() {
    let config = Config { mcp_wait: Duration::ZERO, ..Config::default() };
    let proxy = Proxy::with_config(TestDatabase::sqlite(), config).await;
    let asked = call(&proxy, &json!({})).await;
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    let again = json!({"requestState": state, "inputResponses": {"approval": {"action": "accept"}}});
    let day = Duration::from_hours(24);
    proxy.advance(day.saturating_sub(Duration::from_millis(1)));
    let expired = call(&proxy, &again).await;
    assert_eq!(expired["result"]["structuredContent"]["code"], "approval_expired", "{expired}");
    proxy.advance(Duration::from_millis(1));
    let refused = call(&proxy, &again).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert_eq!(message, "requestState: it has expired; call again without it");
    assert_eq!(proxy.upstream.requests().len(), 0);
}
