//! A plain call takes a shorter way than other messages, with the same answer.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use super::approvals::impatient;
use super::client::{Mcp, forwarded, text};
use crate::support::{Setup, Site};

/// A response whose members are in the order that only a plain call keeps.
const BODY: &str = "{\"items\": [1, 2.50], \"count\": 2}";

/// Makes the agent known to the server. Its first message takes the long way.
async fn known(site: &Site, mcp: &Mcp) {
    for _ in 0..2 {
        mcp.forward(site, "GET", "/items").await;
    }
}

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
    // With the server's own `Date`, two answers would differ when a second begins between them.
    site.upstream.reply_with(|_| Reply::json(BODY).header("date", "Sat, 28 Nov 2026 12:00:00 GMT"));
    let plain = Mcp::new(&site);
    known(&site, &plain).await;
    let tasks = plain.able(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let pages = plain.able(json!({"elicitation": {"url": {}}}));
    let get = forwarded(&site, "GET", "/items");
    let post = forwarded(&site, "POST", "/items");
    let written = plain.request("tools/call", &json!({"name": "call", "arguments": get})).send().await.text();
    assert!(written.contains(&format!("\"body\":{BODY},")), "the short way: {written}");
    for (mcp, arguments) in [
        (&plain, &get),
        (&plain, &json!({"credential": "api", "url": "no address"})),
        (&plain, &json!({"credential": "api", "url": get["url"], "headers": {"X-PX-Key": "k"}})),
        (&plain, &json!({"credential": "nobody", "url": "https://api.example.com"})),
        (&plain, &json!({"credential": 7})),
        (&plain, &json!({})),
        (&plain, &post),
        (&tasks, &post),
        (&tasks, &json!({"credential": "nobody", "url": "https://api.example.com"})),
    ] {
        let [short, long] = both(mcp, arguments).await;
        assert_eq!(short, long, "{arguments}");
        assert_eq!((short.0, &short.2["id"]), (200, &json!(7)));
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

#[tokio::test]
async fn what_a_plain_message_says_twice_or_not_in_utf_8_is_answered_as_before() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    known(&site, &mcp).await;
    let arguments = forwarded(&site, "GET", "/items");
    let message = mcp.message("tools/call", &json!({"name": "call", "arguments": arguments})).to_string();
    let send = async |message: Vec<u8>| {
        mcp.request("tools/call", &json!({"name": "call"})).body(message).send().await
    };
    let elsewhere = site.upstream.url("/elsewhere");
    // The last one counts, as in every other message.
    let twice =
        message.replace("\"credential\":\"api\"", &format!("\"url\":\"{elsewhere}\",\"credential\":\"api\""));
    assert_ne!(twice, message);
    let answer = send(twice.into_bytes()).await.expect(200).json();
    assert_eq!(answer["result"]["structuredContent"]["status"], 200, "{answer}");
    assert_eq!(site.upstream.requests().last().unwrap().target, "/items");
    let before = site.upstream.requests().len();
    let mut broken = message.clone().into_bytes();
    let at = message.find("/items").unwrap();
    broken[at] = 0xff;
    for refused in
        [broken, message.as_bytes()[..message.len() - 1].to_vec(), [message.as_bytes(), b"}"].concat()]
    {
        let answer = send(refused).await;
        assert!(answer.status >= 400 || answer.json()["error"].is_object(), "{answer:?}");
    }
    assert_eq!(site.upstream.requests().len(), before);
}

engines! {
    async fn a_plain_call_with_a_key_that_was_replaced_is_challenged_and_sends_nothing(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        known(&site, &mcp).await;
        let sent = site.upstream.requests().len();
        let agents = site.owner.client.get("/admin/agents").send().await.expect(200).json();
        let path = format!("/admin/agents/{}", agents["agents"][0]["id"].as_str().unwrap());
        site.owner.client.post(&format!("{path}/rotate"), &json!({})).send().await.expect(200);
        for (method, arguments) in [("GET", forwarded(&site, "GET", "/items")), ("none", json!({"credential": "api"}))] {
            let refused = mcp.request("tools/call", &json!({"name": "call", "arguments": arguments})).send().await;
            assert_eq!(refused.status, 401, "{method}: {}", refused.text());
            let challenge = refused.header("www-authenticate").unwrap();
            assert!(challenge.contains("invalid_token"), "{challenge}");
        }
        assert_eq!(site.upstream.requests().len(), sent);
    }
}
