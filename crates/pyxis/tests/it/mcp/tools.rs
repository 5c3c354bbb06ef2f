//! Effect of each tool.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::{Value, json};

use super::client::{Mcp, NEWEST, forwarded, text};
use crate::support::{SECRET, Setup, Site, in_one_hour};

engines! {
    async fn a_call_sends_with_the_secret_and_is_recorded_with_its_door_and_client(setup: Setup) {
        let site = Site::with(setup).await;
        let read = Mcp::new(&site).forward(&site, "GET", "/things").await;
        assert_eq!((&read["isError"], &read["structuredContent"]["status"]), (&json!(false), &json!(200)), "{read}");
        assert!(text(&read).starts_with("HTTP 200 OK"), "{read}");
        let [request] = site.upstream.received(1).await.try_into().unwrap();
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        assert!(request.headers.keys().all(|name| !name.as_str().starts_with("x-px") && name != "prefer"));
        let [record] = site.forwards().await.try_into().unwrap();
        let detail = &record["detail"];
        assert_eq!((&detail["door"], &detail["client"]), (&json!("mcp"), &json!("a-test 1")), "{record}");
    }

    async fn policy_and_hosts_hold_as_everywhere(setup: Setup) {
        let site = Site::with(setup).await;
        let mcp = Mcp::new(&site);
        site.policy(&json!({"auto_approve_methods": ["GET"], "deny_urls": ["/secret"]})).await;
        let refused = mcp.forward(&site, "GET", "/secret/x").await;
        assert_eq!((&refused["isError"], &refused["structuredContent"]["code"]), (&json!(true), &json!("denied_by_policy")));
        let mut elsewhere = forwarded(&site, "GET", "/");
        elsewhere["url"] = json!("https://elsewhere.example.com/");
        assert_eq!(mcp.tool("call", elsewhere).await["structuredContent"]["code"], "host_not_allowed");
        let mut unknown = forwarded(&site, "GET", "/");
        unknown["credential"] = json!("nothing");
        assert_eq!(mcp.tool("call", unknown).await["structuredContent"]["code"], "credential_not_found");
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn the_hourly_limit_of_an_agent_counts_its_calls(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = Site::with(setup).await;
            let mcp = limited(&site, &json!({"rate_limit_per_hour": 2})).await;
            for _ in 0..2 {
                let read = mcp.forward(&site, "GET", "/things").await;
                assert_eq!(read["structuredContent"]["status"], 200, "{read}");
            }
            let refused = mcp.forward(&site, "GET", "/things").await;
            assert_eq!(
                (&refused["isError"], &refused["structuredContent"]["code"]),
                (&json!(true), &json!("rate_limited"))
            );
            assert_eq!(site.upstream.requests().len(), 2);
        })
        .await;
    }

    async fn a_grant_lets_later_calls_through_and_ends_with_its_route(setup: Setup) {
        let site = Site::with(setup.env("PX_MCP_WAIT_SECS", "0")).await;
        let mcp = Mcp::new(&site);
        let txn = pending(&mcp.forward(&site, "POST", "/things").await);
        site.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
        site.agent.outcome(&txn).await;
        mcp.tool("wait", json!({"txn_id": txn})).await;
        let mut another = forwarded(&site, "POST", "/things");
        another["body"] = json!({"title": "another body"});
        let granted = mcp.tool("call", another).await;
        assert_eq!(granted["structuredContent"]["status"], 200, "{granted}");
        assert_eq!(site.upstream.requests().len(), 2);
        let record = site.forwards().await.pop().unwrap();
        assert_eq!((&record["decision"], &record["detail"]["door"]), (&json!("grant"), &json!("mcp")), "{record}");
        pending(&mcp.forward(&site, "POST", "/things/1").await);
    }
}

/// A client of one more agent, with these limits.
async fn limited(site: &Site, limits: &Value) -> Mcp {
    let mut agent = json!({"name": "limited", "credentials": "all"});
    for (name, limit) in limits.as_object().unwrap() {
        agent[name] = limit.clone();
    }
    let added = site.owner.add_agent(&agent).await;
    Mcp::for_key(&site.app, added["key"].as_str().unwrap())
}

/// The transaction of a pending call.
fn pending(result: &Value) -> String {
    assert_eq!(result["structuredContent"]["outcome"], "pending", "{result}");
    result["structuredContent"]["txn_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_has_only_so_many_pending_calls() {
    let site = Site::new_with_env("PX_MCP_WAIT_SECS", "0").await;
    let mcp = limited(&site, &json!({"max_pending": 1})).await;
    let txn = pending(&mcp.forward(&site, "POST", "/first").await);
    let refused = mcp.forward(&site, "POST", "/second").await;
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["code"]),
        (&json!(true), &json!("too_many_pending"))
    );
    assert!(text(&refused).contains("the tool withdraw"), "{refused}");
    mcp.tool("withdraw", json!({"txn_id": txn})).await;
    pending(&mcp.forward(&site, "POST", "/second").await);
}

#[tokio::test]
async fn a_client_of_an_earlier_version_is_recorded_by_its_user_agent() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let params = json!({"name": "call", "arguments": forwarded(&site, "GET", "/things")});
    for (version, recorded) in [("2025-06-18", "old/3"), ("2025-11-25", "old/3"), (NEWEST, "a-test 1")] {
        let call = mcp.speaking(version).request("tools/call", &params).header("user-agent", "old/3");
        call.send().await.expect(200);
        let record = site.forwards().await.pop().unwrap();
        assert_eq!(record["detail"]["client"], recorded, "{version}: {record}");
    }
}

#[tokio::test]
async fn services_and_explain_foretell_what_a_call_does() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let listed = mcp.tool("services", json!({})).await;
    let services = &listed["structuredContent"]["services"];
    assert_eq!(
        (&services[0]["credential"], &services[0]["methods"][2]["outcome"]),
        (&json!("api"), &json!("pauses"))
    );
    assert_eq!(services[0]["target_example"], site.upstream.url("/"), "{listed}");
    assert_eq!(text(&listed), listed["structuredContent"].to_string());
    let explained = |method: &str| {
        let mut arguments = forwarded(&site, "GET", "/things");
        arguments["method"] = json!(method);
        let mcp = mcp.clone();
        async move { mcp.tool("explain", arguments).await["structuredContent"]["decision"].clone() }
    };
    assert_eq!(
        (explained("GET").await, explained("POST").await),
        (json!("auto_approve"), json!("require_approval"))
    );
    let unknown = mcp.tool("explain", json!({"credential": "nothing", "url": "https://a.example/"})).await;
    assert_eq!(unknown["isError"], true);
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn explain_judges_a_body_by_the_content_rules() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let rules = json!(["/pay json /amount <= 5000"]);
    site.policy(&json!({"auto_approve_methods": ["GET", "POST"], "content_rules": rules})).await;
    for (body, decision, rule) in [
        (json!({"amount": 5000}), "auto_approve", "auto_method"),
        (json!({"amount": 9000}), "require_approval", "content"),
        (json!("{\"amount\":1,\"amount\":9000}"), "require_approval", "content"),
    ] {
        let mut arguments = forwarded(&site, "POST", "/pay");
        arguments.as_object_mut().unwrap().remove("reason");
        arguments["body"] = body;
        let explained = mcp.tool("explain", arguments).await;
        let told = &explained["structuredContent"];
        assert_eq!((&told["decision"], &told["rule"]), (&json!(decision), &json!(rule)), "{explained}");
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn explain_judges_what_call_would_send() {
    let site = Site::with(Setup::new().env("PX_MCP_WAIT_SECS", "0")).await;
    let mcp = Mcp::new(&site);
    let rules = json!(["/pay json /amount <= 5000"]);
    let policy = json!({"auto_approve_methods": ["GET", "PATCH", "POST"], "content_rules": rules, "require_reason": true});
    site.policy(&policy).await;
    let body = json!("{\"amount\": 1}");
    let arguments = |changed: Value| {
        let mut arguments = json!({"credential": "api", "url": site.upstream.url("/pay"), "method": "POST"});
        arguments["body"] = body.clone();
        for (name, value) in changed.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    let unsure = json!({"Content-Type": "application/json", "content-type": "text/plain"});
    for (changed, decision, outcome) in [
        (json!({}), "auto_approve", "response"),
        (json!({"headers": {"Content-Encoding": "gzip"}, "reason": "r"}), "require_approval", "pending"),
        (json!({"headers": unsure, "reason": "r"}), "require_approval", "pending"),
        (json!({"headers": {"Content-Encoding": "gzip"}}), "refuse", "missing_header"),
        (json!({"method": "PATCH "}), "auto_approve", "response"),
        (json!({"method": "WEBSOCKET", "reason": "r"}), "refuse", "invalid_method"),
    ] {
        let explained = mcp.tool("explain", arguments(changed.clone())).await;
        assert_eq!(explained["structuredContent"]["decision"], decision, "{changed}: {explained}");
        let called = mcp.tool("call", arguments(changed.clone())).await;
        let told = &called["structuredContent"];
        assert!(told["outcome"] == outcome || told["code"] == outcome, "{changed}: {called}");
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_to_the_model_and_nothing_is_sent() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    for (tool, arguments, named) in [
        ("call", json!({"credential": "api"}), "url"),
        ("call", json!({"credential": "api", "url": "u", "secret": "s"}), "secret is not an argument"),
        ("call", json!({"credential": "api", "url": "u", "headers": {"X-PX-Reason": "r"}}), "set by Pyxis"),
        ("call", json!({"credential": "api", "url": "u", "headers": {"a": 5}}), "headers.a must be a string"),
        ("call", json!({"url": "u"}), "credential is missing; give a string"),
        ("explain", json!({"credential": "api", "url": 5}), "url must be a string"),
        ("wait", json!({}), "txn_id"),
        ("withdraw", json!({"txn_id": "no"}), "not found"),
        ("services", json!({"all": true}), "all is not an argument"),
    ] {
        let result = mcp.tool(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(named), "{result}");
        let told = &result["structuredContent"];
        assert!(told["outcome"] == "error" && told["code"].is_string(), "{result}");
        assert_eq!(told["code"] == "invalid_field", told["field"].is_string(), "{result}");
        assert!(text(&result).contains(told["detail"].as_str().unwrap()), "{result}");
    }
    let unknown = mcp.request("tools/call", &json!({"name": "dance", "arguments": {}})).send().await;
    assert!(unknown.text().contains("unknown tool: dance"), "{unknown:?}");
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn the_secret_is_scrubbed_from_what_a_model_reads() {
    let site = Site::new().await;
    site.upstream.reply(Reply::json(&format!("{{\"token\":{}}}", json!(SECRET))));
    let read = Mcp::new(&site).forward(&site, "GET", "/").await;
    assert!(!read.to_string().contains("canary"), "{read}");
    assert!(text(&read).contains("[REDACTED:api]"), "{read}");
}

#[tokio::test]
async fn json_comes_as_json_and_images_as_images() {
    let site = Site::new().await;
    let mcp = Mcp::new(&site);
    let reply = |body: Vec<u8>, kind: &'static str| {
        site.upstream.reply(Reply::ok(body).header("content-type", kind));
    };
    reply(b"{\"a\":[1]}".to_vec(), "application/json");
    let json = mcp.forward(&site, "GET", "/").await;
    assert_eq!(json["structuredContent"]["body"], json!({"a": [1]}));
    reply(b"\x89PNG\r\n\x1a\n".to_vec(), "image/png");
    let image = mcp.forward(&site, "GET", "/").await;
    assert_eq!(
        (&image["content"][1]["type"], &image["content"][1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    site.upstream.reply(Reply::new(410).body("gone"));
    let gone: Value = mcp.forward(&site, "GET", "/").await;
    assert_eq!((&gone["isError"], &gone["structuredContent"]["status"]), (&json!(true), &json!(410)));
}
