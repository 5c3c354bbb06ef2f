//! A plain call takes a shorter way than other messages, with the same answer.

use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use super::approvals::impatient;
use super::client::{Mcp, forwarded, text};
use crate::support::{Setup, Site};

/// Status, content type and message of the answer to a call, and of the same call with one member more, which only the
/// SDK takes.
async fn both(mcp: &Mcp, arguments: &Value) -> [(u16, String, Value); 2] {
    let plain = mcp.message("tools/call", &json!({"name": "call", "arguments": arguments}));
    let mut longer = plain.clone();
    longer["params"]["_meta"]["com.example/more"] = json!(1);
    let mut answers = Vec::new();
    for message in [plain, longer] {
        let answer = mcp.request_of(&message).send().await;
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        let mut message = answer.json();
        // The moment of the answer, for tasks.
        if let Some(at) = message["result"].get_mut("lastUpdatedAt") {
            *at = json!(null);
        }
        answers.push((answer.status, kind, message));
    }
    answers.try_into().unwrap()
}

#[tokio::test]
async fn a_plain_call_is_answered_as_the_sdk_answers_it() {
    let site = impatient(Setup::new()).await;
    site.upstream.reply_with(|_| Reply::json("{\"items\": [1, 2]}"));
    let plain = Mcp::new(&site);
    let tasks = plain.able(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let pages = plain.able(json!({"elicitation": {"url": {}}}));
    let get = forwarded(&site, "GET", "/items");
    let post = forwarded(&site, "POST", "/items");
    for (mcp, arguments) in [
        (&plain, &get),
        (&plain, &json!({"credential": "nobody", "url": "https://api.example.com"})),
        (&plain, &json!({"credential": 7})),
        (&plain, &json!({})),
        (&plain, &post),
        (&tasks, &post),
        (&tasks, &json!({"credential": "nobody", "url": "https://api.example.com"})),
    ] {
        let [short, long] = both(mcp, arguments).await;
        assert_eq!(short, long, "{arguments}");
        assert_eq!(short.0, 200);
        assert_eq!(short.2["id"], 7);
        if short.2["result"]["structuredContent"]["outcome"] == "pending" {
            let result = &short.2["result"];
            assert_eq!(result["structuredContent"]["next"], text(result), "{result}");
        }
    }
    let [(_, _, short), (_, _, long)] = both(&pages, &post).await;
    let state = "requestState"; // sealed again each time
    assert!(short["result"][state].is_string() && long["result"][state].is_string(), "{short} {long}");
    let without = |mut message: Value| {
        message["result"][state] = json!(null);
        message
    };
    assert_eq!(without(short), without(long));
}

#[tokio::test]
async fn a_plain_call_with_a_wrong_header_is_refused_as_before() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let message =
        mcp.message("tools/call", &json!({"name": "call", "arguments": forwarded(&site, "GET", "/items")}));
    for (name, value) in
        [("mcp-method", "tools/list"), ("mcp-name", "wait"), ("mcp-protocol-version", "2025-11-25")]
    {
        let refused = mcp.request_of(&message).set(name, value).send().await;
        assert_eq!(refused.status, 400, "{name}: {}", refused.text());
    }
    let foreign = mcp.request_of(&message).header("origin", "https://evil.example").send().await;
    assert_eq!(foreign.status, 403, "{}", foreign.text());
    assert_eq!(site.upstream.requests().len(), 0);
}
