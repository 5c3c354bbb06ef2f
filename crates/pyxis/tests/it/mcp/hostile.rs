//! Clients that send too much.

use pyxis_testkit::engines;
use serde_json::json;
use tokio::task::JoinSet;

use super::client::{Mcp, message_of};
use crate::support::{Setup, Site};

/// Calls that are sent at the same time.
const CALLS: usize = 1000;

engines! {
    async fn a_thousand_calls_at_once_are_all_answered_and_each_is_sent_at_most_once(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        let mut calls = JoinSet::new();
        for number in 0..CALLS {
            let (mcp, path) = (mcp.clone(), format!("/things/{number}"));
            let url = site.upstream.url(&path);
            calls.spawn(async move {
                let result = mcp.tool("call", json!({"credential": "api", "url": url})).await;
                let said = &result["structuredContent"];
                // A database that is asked too much refuses, and says that nothing was sent.
                let is_refused = said["code"] == "unavailable";
                assert!(is_refused || said["status"] == 200, "{result}");
                (!is_refused).then_some(path)
            });
        }
        let answered = calls.join_all().await;
        assert_eq!(answered.len(), CALLS);
        let mut sent: Vec<String> = site.upstream.requests().into_iter().map(|request| request.target).collect();
        let mut served: Vec<String> = answered.into_iter().flatten().collect();
        sent.sort();
        served.sort();
        assert_eq!(sent, served);
        assert!(served.len() > CALLS / 10, "only {} were served", served.len());
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
