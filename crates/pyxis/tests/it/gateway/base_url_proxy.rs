//! The entrance for tools that know only a base URL and a key.

use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::client::Call;
use crate::support::{SECRET, Setup, Site};

/// A request in the form that such a tool sends.
fn tool_call(site: &Site, method: &str, path: &str) -> Call {
    let bearer = format!("Bearer {}", site.agent.key);
    site.app.anonymous().call(method, path).header("authorization", &bearer)
}

#[tokio::test]
async fn method_path_query_and_body_arrive_with_the_secret_and_without_the_agents_key() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["GET", "POST"]})).await;
    let call = tool_call(&site, "POST", "/p/api/v1/chat/completions?beta=1")
        .header("content-type", "application/json");
    let answer = call.header("x-kept", "1").body("{\"stream\":true}").send().await.forwarded(200);
    assert_eq!(answer.text(), "ok");
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/chat/completions?beta=1"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!((request.text(), request.header("x-kept")), ("{\"stream\":true}", Some("1")));
    assert!(!format!("{request:?}").contains(&site.agent.key));
    tool_call(&site, "GET", "/p/api").send().await.forwarded(200);
    assert_eq!(site.upstream.received(2).await[1].target, "/");
    let record = site.forwards().await.remove(0);
    assert_eq!((&record["method"], &record["decision"]), (&json!("POST"), &json!("auto")));
}

#[tokio::test]
async fn an_answer_streams() {
    let site = Site::new().await;
    let (reply, chunks) = Reply::streaming();
    site.upstream.reply(reply.header("content-type", "text/event-stream"));
    let mut opened = tool_call(&site, "GET", "/p/api/events").open().await;
    chunks.send("data: 1\n\n");
    assert_eq!(opened.chunk().await.unwrap(), "data: 1\n\n");
}

#[tokio::test]
async fn a_request_that_asks_is_held_and_is_then_a_202() {
    let site = Site::new_with_env("PX_ENTRANCE_WAIT_SECS", "30").await;
    let (call, owner) = (tool_call(&site, "POST", "/p/api/v1/x").body("{}"), site.owner.clone());
    let waiting = tokio::spawn(call.send());
    let txn = crate::support::until("a pending approval", async || {
        let list = owner.client.get("/approvals?state=pending").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await;
    owner.approve(&txn).await;
    assert_eq!(waiting.await.unwrap().forwarded(200).text(), "ok");
    let now = tool_call(&site, "POST", "/p/api/v1/y").header("prefer", "wait=0").send().await.expect(202);
    assert_eq!(now.json()["status"], "pending");
}

#[tokio::test]
async fn policy_hosts_and_headers_are_those_of_forward() {
    let site = Site::bare(Setup::new()).await;
    site.credential("api", &json!({"auth": {"kind": "header", "name": "X-Api-Key"}, "secret": "k-canary"}))
        .await;
    site.owner.set_policy("api", &json!({"deny_urls": ["/secret"], "auto_approve_methods": ["GET"]})).await;
    tool_call(&site, "GET", "/p/api/secret/x").send().await.problem(403, "denied_by_policy");
    tool_call(&site, "GET", "/p/other/x").send().await.problem(404, "credential_not_found");
    tool_call(&site, "GET", "/p/api/x")
        .header("x-px-target", "https://evil.example.com/")
        .send()
        .await
        .problem(400, "unknown_header");
    tool_call(&site, "GET", "/p/api/x").header("x-px-body", "1").send().await.problem(400, "unknown_header");
    site.app.anonymous().get("/p/api/x").send().await.problem(401, "missing_key");
    let wrong = site.app.anonymous().get("/p/api/x").header("authorization", "Bearer nobody");
    wrong.send().await.problem(401, "invalid_key");
    site.credential("nowhere", &json!({"auth": {"kind": "bearer"}, "secret": "s", "allowed_hosts": []}))
        .await;
    tool_call(&site, "GET", "/p/nowhere/x").send().await.problem(403, "host_not_allowed");
    tool_call(&site, "GET", "/p/api/x/../y").send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!((request.target.as_str(), request.header("x-api-key")), ("/y", Some("k-canary")));
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn a_tool_with_a_header_of_its_own_puts_the_agents_key_there() {
    let site = Site::bare(Setup::new()).await;
    let auth = json!({"auth": {"kind": "header", "name": "x-api-key"}, "secret": "k-canary"});
    site.credential("api", &auth).await;
    site.owner.set_policy("api", &json!({"auto_approve_methods": ["GET"]})).await;
    for name in ["x-api-key", "x-goog-api-key", "private-token"] {
        let call = site.app.anonymous().get("/p/api/x").header(name, &site.agent.key);
        call.send().await.forwarded(200);
    }
    let twice = tool_call(&site, "GET", "/p/api/x").header("x-goog-api-key", &site.agent.key);
    twice.send().await.forwarded(200);
    for request in site.upstream.received(4).await {
        assert_eq!(request.header("x-api-key"), Some("k-canary"));
        assert!(!format!("{request:?}").contains(&site.agent.key));
    }
    let call = site.app.anonymous().get("/p/api/x").header("x-api-key", &site.agent.key);
    call.header("api-key", &site.agent.key).send().await.problem(400, "duplicate_header");
    let call = site.app.anonymous().get("/p/api/x").header("x-api-key", "sk-of-the-api-itself");
    call.send().await.problem(401, "missing_key");
}
