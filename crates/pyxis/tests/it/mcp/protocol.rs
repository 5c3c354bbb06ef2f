//! The protocol: versions, headers, callers.

use serde_json::{Value, json};

use super::client::{Mcp, NEWEST, message_of};
use crate::support::Site;

const TOOLS: [&str; 6] = ["services", "call", "propose_task", "wait", "withdraw", "explain"];

fn names(result: &Value) -> Vec<&str> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_tools_are_few_and_say_honestly_what_they_do() {
    let site = Site::new().await;
    let listed = Mcp::new(&site).result("tools/list", &json!({})).await;
    assert_eq!(names(&listed), TOOLS);
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"].is_string(), "{listed}");
    for tool in listed["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let notes = &tool["annotations"];
        let changes = matches!(name, "call" | "propose_task" | "wait" | "withdraw");
        assert_eq!(notes["readOnlyHint"], !changes, "{name}");
        assert_eq!(notes["destructiveHint"] == json!(true), name == "call", "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert!(tool["description"].as_str().unwrap().len() > 40, "{name}");
    }
}

#[tokio::test]
async fn a_client_of_the_newest_version_discovers_the_server_without_a_session() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let found = mcp.result("server/discover", &json!({})).await;
    assert_eq!(found["supportedVersions"], json!(["2025-06-18", "2025-11-25", NEWEST]));
    assert!(found["capabilities"]["tools"].is_object(), "{found}");
    assert!(found["instructions"].as_str().unwrap().contains("`services`"), "{found}");
    let answer = mcp.request("tools/list", &json!({})).send().await.expect(200);
    assert_eq!(answer.header("mcp-session-id"), None);
}

#[tokio::test]
async fn clients_of_the_versions_before_shake_hands_and_call_tools() {
    let site = Site::new().await;
    for version in ["2025-06-18", "2025-11-25"] {
        let mcp = Mcp::new(&site).speaking(version);
        let hello = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "0"},
        });
        let started = mcp.result("initialize", &hello).await;
        assert_eq!(started["protocolVersion"], version);
        let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        mcp.request("notifications/initialized", &json!({})).json(&noted).send().await.expect(202);
        assert_eq!(names(&mcp.result("tools/list", &json!({})).await), TOOLS);
        let read = mcp.forward(&site, "GET", "/things").await;
        assert_eq!(read["structuredContent"]["status"], 200, "{read}");
        assert!(read["resultType"].is_null(), "{read}");
    }
}

#[tokio::test]
async fn a_message_without_the_key_of_an_enabled_agent_is_refused_with_a_challenge() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    for key in [None, Some("Bearer px_agent_wrong"), Some("Basic cHg6cHg="), Some("Bearer ")] {
        let call = mcp.request("tools/list", &json!({})).without("authorization");
        let call = match key {
            Some(key) => call.header("authorization", key),
            None => call,
        };
        let answer = call.send().await.expect(401);
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
    }
    let listed = mcp.request("tools/list", &json!({})).without("authorization");
    let key = site.app.bootstrap["agent_key"].as_str().unwrap();
    listed.header("x-px-key", key).send().await.expect(200);
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    for origin in ["https://evil.example", "null", "http://localhost:1"] {
        mcp.request("tools/list", &json!({})).header("origin", origin).send().await.expect(403);
    }
}

#[tokio::test]
async fn what_does_not_fit_the_protocol_is_refused_with_its_code() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let code = |answer| message_of(&answer)["error"]["code"].clone();
    let list = || mcp.request("tools/list", &json!({}));
    assert_eq!(code(list().set("mcp-method", "tools/call").send().await.expect(400)), -32020);
    let explain = json!({"name": "explain", "arguments": {}});
    let call = mcp.request("tools/call", &explain).set("mcp-name", "services");
    assert_eq!(code(call.send().await.expect(400)), -32020);
    let unknown = mcp.request("tools/dance", &json!({})).send().await.expect(404);
    assert_eq!(code(unknown), -32601);
    let mut future = mcp.message("tools/list", &json!({}));
    future["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let future = list().set("mcp-protocol-version", "2099-01-01").json(&future).send().await.expect(400);
    assert_eq!(code(future), -32022);
    for method in ["GET", "DELETE"] {
        let key = site.app.bootstrap["agent_key"].as_str().unwrap();
        let client = site.app.anonymous().with("authorization", &format!("Bearer {key}"));
        client.call(method, "/mcp").header("accept", "text/event-stream").send().await.expect(405);
    }
    list().send().await.expect(200);
}

#[tokio::test]
async fn what_is_not_a_message_is_a_json_rpc_error_and_another_media_type_is_415() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    for mcp in [mcp.clone(), mcp.speaking("2025-11-25")] {
        let answered = async |body: &str| {
            let call = mcp
                .request("tools/list", &json!({}))
                .body(body.to_owned())
                .set("content-type", "application/json");
            message_of(&call.send().await.expect(400))
        };
        for body in ["{", "", "{\"jsonrpc\":", "nothing"] {
            let answer = answered(body).await;
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(-32700), &Value::Null),
                "{body}: {answer}"
            );
        }
        let list = mcp.message("tools/list", &json!({}));
        let changed = |member: &str, value: Value| {
            let mut message = list.clone();
            message[member] = value;
            message.to_string()
        };
        let mut unversioned = list.clone();
        unversioned.as_object_mut().unwrap().remove("jsonrpc");
        for body in [
            "[]".to_owned(),
            "5".to_owned(),
            json!([list]).to_string(),
            changed("id", Value::Null),
            changed("id", json!(1.5)),
            changed("method", json!(5)),
            changed("params", json!([])),
            changed("jsonrpc", json!("1.0")),
            unversioned.to_string(),
        ] {
            let answer = answered(&body).await;
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(-32600), &Value::Null),
                "{body}: {answer}"
            );
        }
    }
    mcp.request("tools/list", &json!({})).set("content-type", "text/plain").send().await.expect(415);
}

#[tokio::test]
async fn a_version_that_only_the_header_names_is_refused_with_the_versions_that_are_spoken() {
    let site = Site::new().await;
    let older = Mcp::new(&site).speaking("2025-11-25");
    let call = older.request("tools/list", &json!({})).set("mcp-protocol-version", "1999-01-01");
    let answer = message_of(&call.send().await.expect(400));
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32022), &json!(7)), "{answer}");
    assert_eq!(answer["error"]["data"]["supported"], json!(["2025-06-18", "2025-11-25", NEWEST]));
}

#[tokio::test]
async fn parameters_that_a_method_cannot_take_are_named_and_the_method_is_known() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    for (method, params, named) in [
        ("tools/call", json!({"name": "call", "arguments": "x"}), "`arguments`"),
        ("tools/call", json!({"name": "call", "arguments": []}), "`arguments`"),
        ("tools/call", json!({"arguments": {}}), "`name`"),
        ("tools/call", json!({"name": "call", "arguments": {}, "requestState": 5}), "`requestState`"),
        ("resources/read", json!({}), "`uri`"),
        ("tasks/get", json!({}), "`taskId`"),
    ] {
        for (mcp, status) in [(mcp.clone(), 400), (mcp.speaking("2025-11-25"), 200)] {
            let answer = message_of(&mcp.request(method, &params).send().await.expect(status));
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(-32602), &json!(7)),
                "{params}: {answer}"
            );
            assert!(answer["error"]["message"].as_str().unwrap().contains(named), "{params}: {answer}");
        }
    }
}
