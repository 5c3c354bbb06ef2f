//! The entrance for tools that know only a base URL and a key.

use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::client::Call;
use crate::support::{SECRET, Setup, World};

/// A request in the form that such a tool sends.
fn enter(world: &World, method: &str, path: &str) -> Call {
    let bearer = format!("Bearer {}", world.agent.key);
    world.app.anonymous().call(method, path).header("authorization", &bearer)
}

#[tokio::test]
async fn method_path_query_and_body_arrive_with_the_secret_and_without_the_agents_key() {
    let world = World::new().await;
    world.policy(&json!({"auto_approve_methods": ["GET", "POST"]})).await;
    let call =
        enter(&world, "POST", "/p/api/v1/chat/completions?beta=1").header("content-type", "application/json");
    let answer = call.header("x-kept", "1").body("{\"stream\":true}").send().await.forwarded(200);
    assert_eq!(answer.text(), "ok");
    let request = world.upstream.received(1).await.remove(0);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/chat/completions?beta=1"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!((request.text(), request.header("x-kept")), ("{\"stream\":true}", Some("1")));
    assert!(!format!("{request:?}").contains(&world.agent.key));
    enter(&world, "GET", "/p/api").send().await.forwarded(200);
    assert_eq!(world.upstream.received(2).await[1].target, "/");
    let record = world.forwards().await.remove(0);
    assert_eq!((&record["method"], &record["decision"]), (&json!("POST"), &json!("auto")));
}

#[tokio::test]
async fn an_answer_streams() {
    let world = World::new().await;
    let (reply, chunks) = Reply::streaming();
    world.upstream.reply(reply.header("content-type", "text/event-stream"));
    let mut opened = enter(&world, "GET", "/p/api/events").open().await;
    chunks.send("data: 1\n\n");
    assert_eq!(opened.chunk().await.unwrap(), "data: 1\n\n");
}

#[tokio::test]
async fn a_request_that_asks_is_held_and_is_then_a_202() {
    let world = World::new_with_env("PX_ENTRANCE_WAIT_SECS", "30").await;
    let (call, owner) = (enter(&world, "POST", "/p/api/v1/x").body("{}"), world.owner.clone());
    let waiting = tokio::spawn(call.send());
    let txn = crate::support::until("a pending approval", async || {
        let list = owner.client.get("/approvals?state=pending").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await;
    owner.approve(&txn).await;
    assert_eq!(waiting.await.unwrap().forwarded(200).text(), "ok");
    let now = enter(&world, "POST", "/p/api/v1/y").header("prefer", "wait=0").send().await.expect(202);
    assert_eq!(now.json()["status"], "pending");
}

#[tokio::test]
async fn policy_hosts_and_headers_are_those_of_forward() {
    let world = World::bare(Setup::new()).await;
    world
        .credential("api", &json!({"auth": {"kind": "header", "name": "X-Api-Key"}, "secret": "k-canary"}))
        .await;
    world.owner.set_policy("api", &json!({"deny_urls": ["/secret"], "auto_approve_methods": ["GET"]})).await;
    enter(&world, "GET", "/p/api/secret/x").send().await.problem(403, "denied_by_policy");
    enter(&world, "GET", "/p/other/x").send().await.problem(404, "credential_not_found");
    enter(&world, "GET", "/p/api/x")
        .header("x-px-target", "https://evil.example.com/")
        .send()
        .await
        .problem(400, "unknown_header");
    enter(&world, "GET", "/p/api/x").header("x-px-body", "1").send().await.problem(400, "unknown_header");
    world.app.anonymous().get("/p/api/x").send().await.problem(401, "missing_key");
    let wrong = world.app.anonymous().get("/p/api/x").header("authorization", "Bearer nobody");
    wrong.send().await.problem(401, "invalid_key");
    world
        .credential("nowhere", &json!({"auth": {"kind": "bearer"}, "secret": "s", "allowed_hosts": []}))
        .await;
    enter(&world, "GET", "/p/nowhere/x").send().await.problem(403, "host_not_allowed");
    enter(&world, "GET", "/p/api/x/../y").send().await.forwarded(200);
    let request = world.upstream.received(1).await.remove(0);
    assert_eq!((request.target.as_str(), request.header("x-api-key")), ("/y", Some("k-canary")));
    assert_eq!(request.header("authorization"), None);
}

#[tokio::test]
async fn a_tool_with_a_header_of_its_own_puts_the_agents_key_there() {
    let world = World::bare(Setup::new()).await;
    let auth = json!({"auth": {"kind": "header", "name": "x-api-key"}, "secret": "k-canary"});
    world.credential("api", &auth).await;
    world.owner.set_policy("api", &json!({"auto_approve_methods": ["GET"]})).await;
    for name in ["x-api-key", "x-goog-api-key", "private-token"] {
        let call = world.app.anonymous().get("/p/api/x").header(name, &world.agent.key);
        call.send().await.forwarded(200);
    }
    let twice = enter(&world, "GET", "/p/api/x").header("x-goog-api-key", &world.agent.key);
    twice.send().await.forwarded(200);
    for request in world.upstream.received(4).await {
        assert_eq!(request.header("x-api-key"), Some("k-canary"));
        assert!(!format!("{request:?}").contains(&world.agent.key));
    }
    let call = world.app.anonymous().get("/p/api/x").header("x-api-key", &world.agent.key);
    call.header("api-key", &world.agent.key).send().await.problem(400, "duplicate_header");
    let call = world.app.anonymous().get("/p/api/x").header("x-api-key", "sk-of-the-api-itself");
    call.send().await.problem(401, "missing_key");
}
