//! Clients that send too much.

use pyxis_testkit::engines;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::{Mcp, NEWEST, message_of};
use crate::support::{Setup, Site};

/// Calls that are sent at the same time.
const CALLS: usize = 1000;

/// Times that calls are repeated. Each round serves at least as many as fit into the time limit of the database.
const ROUNDS: usize = 20;

/// Calls these paths at the same time. Returns those that the database had no time for: they are refused with the
/// documented answer.
async fn call_all(site: &Site, mcp: &Mcp, paths: Vec<String>) -> Vec<String> {
    let mut calls = JoinSet::new();
    for path in paths {
        let (mcp, url) = (mcp.clone(), site.upstream.url(&path));
        calls.spawn(async move {
            let result = mcp.tool("call", json!({"credential": "api", "url": url})).await;
            let said = &result["structuredContent"];
            if said["status"] == 200 {
                return None;
            }
            let told = (&result["isError"], &said["code"], &said["retry_after"]);
            assert_eq!(told, (&json!(true), &json!("unavailable"), &json!(5)), "{result}");
            assert!(said["detail"].as_str().unwrap().contains("nothing was sent"), "{result}");
            Some(path)
        });
    }
    calls.join_all().await.into_iter().flatten().collect()
}

engines! {
    async fn a_thousand_calls_at_once_are_all_answered_and_each_is_sent_once_when_refused_ones_are_repeated(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        let mut expected: Vec<String> = (0..CALLS).map(|number| format!("/things/{number}")).collect();
        let mut left = expected.clone();
        for _ in 0..ROUNDS {
            left = call_all(&site, &mcp, left).await;
        }
        assert_eq!(left.len(), 0, "still refused");
        let mut sent: Vec<String> = site.upstream.requests().into_iter().map(|request| request.target).collect();
        sent.sort();
        expected.sort();
        assert_eq!(sent, expected);
    }
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_and_the_server_serves_on() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let call = |body: String| {
        let arguments =
            json!({"credential": "api", "method": "POST", "url": site.upstream.url("/"), "body": body});
        mcp.request("tools/call", &json!({"name": "call", "arguments": arguments}))
    };
    call("a".repeat(16 * 1024 * 1024)).send().await.expect(413);
    mcp.request("tools/list", &json!({})).send().await.expect(200);
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_message_of_very_many_values_is_refused_unless_they_are_one_text() {
    let site = Site::new().await;
    site.owner.set_policy("api", &json!({"auto_approve_methods": ["POST"]})).await;
    let values = format!("[{}0]", "{\"\":0},".repeat(100_000));
    for version in [NEWEST, "2025-11-25"] {
        let mcp = Mcp::new(&site).speaking(version);
        let call = |body: Value| {
            let arguments =
                json!({"credential": "api", "method": "POST", "url": site.upstream.url("/"), "body": body});
            mcp.request("tools/call", &json!({"name": "call", "arguments": arguments}))
        };
        let refused = call(serde_json::from_str(&values).unwrap()).send().await.problem(422, "invalid_field");
        assert!(refused["detail"].as_str().unwrap().contains("send a large body as text"), "{refused}");
        call(json!(values)).send().await.expect(200);
    }
    assert_eq!(site.upstream.requests().len(), 2);
}

#[tokio::test]
async fn deep_or_malformed_messages_are_refused_and_the_server_serves_on() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let list = || mcp.request("tools/list", &json!({}));
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for body in
        [deep.as_str(), "", "null", "[]", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/list\"}", "\u{0}"]
    {
        let answer = list().body(body.to_owned()).send().await;
        assert!((400..500).contains(&answer.status), "{answer:?}");
    }
    let twice =
        mcp.message("tools/list", &json!({})).to_string().replacen("\"id\":7", "\"id\":8,\"id\":7", 1);
    let answer = list().body(twice).send().await;
    assert!(answer.status < 500, "{answer:?}");
    assert!(message_of(&list().send().await.expect(200))["result"]["tools"].is_array());
}
