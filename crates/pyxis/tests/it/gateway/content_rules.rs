//! Content rules, seen from outside (`docs/reference/policy.md#content-rules`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{HttpResponse, Setup, Site};

const FORM: &str = "application/x-www-form-urlencoded";

/// Sends a POST with a body of a type.
async fn post(site: &Site, path: &str, content_type: &str, body: &str) -> HttpResponse {
    let call = site.forward("POST", path).header("content-type", content_type);
    call.body(body.to_owned()).send().await
}

async fn post_json(site: &Site, path: &str, body: &Value) -> HttpResponse {
    post(site, path, "application/json", &body.to_string()).await
}

/// A POST policy with these content rules.
async fn rules(site: &Site, rules: &[&str]) {
    site.policy(&json!({"auto_approve_methods": ["GET", "POST"], "content_rules": rules})).await;
}

engines! {
    async fn an_amount_up_to_the_limit_is_sent_and_a_larger_one_asks_with_the_amount_as_its_headline(setup: Setup) {
        let site = Site::with(setup).await;
        rules(&site, &["/v1/pay json /amount <= 5000", "/v1/pay json /currency in \"eur\", \"usd\" else deny"]).await;
        let small = post_json(&site, "/v1/pay", &json!({"amount": 5000, "currency": "eur"})).await;
        assert_eq!(small.status, 200, "{}", small.text());
        let sent = site.upstream.requests();
        assert_eq!(sent.last().unwrap().body, r#"{"amount":5000,"currency":"eur"}"#.as_bytes());
        let foreign = post_json(&site, "/v1/pay", &json!({"amount": 1, "currency": "chf"})).await;
        foreign.problem(403, "denied_by_policy");
        let large = post_json(&site, "/v1/pay", &json!({"amount": 12000, "currency": "usd"})).await.expect(202);
        let txn = large.txn();
        let shown = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert_eq!(shown["rule"], "content");
        assert_eq!(shown["content"], "/amount is 12000; the rule allows <= 5000");
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["status"], "approved");
        let audited = site.app.audit().await;
        let asked = audited.iter().find(|record| record["txn_id"] == json!(txn)).unwrap();
        assert!(asked.to_string().contains("/v1/pay json /amount <= 5000"), "{asked}");
    }

    async fn a_mutation_asks_where_queries_pass_and_a_rule_names_those_that_may_pass(setup: Setup) {
        let site = Site::with(setup).await;
        rules(&site, &["/graphql graphql mutation addComment pass", "/graphql graphql mutation drop deny"]).await;
        for (document, status) in [
            ("{ viewer { login } }", 200),
            ("mutation { addComment(text: \"hi\") { id } }", 200),
            ("mutation { createIssue { id } }", 202),
            ("mutation { addComment { id } drop { id } }", 403),
            ("mutation {", 202),
        ] {
            let answer = post_json(&site, "/graphql", &json!({"query": document})).await;
            assert_eq!(answer.status, status, "{document}: {}", answer.text());
        }
        let by_get = site.forward("GET", "/graphql?query=mutation%7BcreateIssue%7Bid%7D%7D").send().await;
        assert_eq!(by_get.status, 202);
        let form = post(&site, "/graphql", FORM, "query=mutation%7Bdrop%7Bid%7D%7D").await;
        form.problem(403, "denied_by_policy");
    }

    async fn no_grant_covers_what_a_content_rule_asks_about(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"content_rules": ["/v1/pay form amount <= 5000"]})).await;
        let small = post(&site, "/v1/pay", FORM, "amount=1").await.expect(202).txn();
        site.owner.approve_with(&small, &json!({"grant_seconds": 900})).await;
        site.agent.outcome(&small).await;
        assert_eq!(post(&site, "/v1/pay", FORM, "amount=2").await.status, 200);
        let large = post(&site, "/v1/pay", FORM, "amount=9999").await.expect(202).txn();
        let shown = site.owner.client.get(&format!("/approvals/{large}")).send().await.expect(200).json();
        assert_eq!(shown.get("grant_coverage"), None, "no grant is offered");
        site.agent.withdraw(&large).await.expect(204);
        assert_eq!(post(&site, "/v1/pay", FORM, "amount=9999").await.status, 202);
    }

    async fn an_approved_request_whose_content_is_denied_meanwhile_is_not_sent(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"min_approvals": 1})).await;
        let txn = post_json(&site, "/v1/pay", &json!({"amount": 9})).await.expect(202).txn();
        let before = site.upstream.requests().len();
        rules(&site, &["/v1/pay json /amount <= 5 else deny"]).await;
        site.owner.decide(&txn, "approve", &json!({})).await.expect(200);
        let outcome = site.agent.outcome(&txn).await;
        assert!(outcome.to_string().contains("the policy now denies it"), "{outcome}");
        assert_eq!(site.upstream.requests().len(), before);
    }
}

#[tokio::test]
async fn explain_says_what_a_rule_finds_and_that_it_needs_a_body() {
    let site = Site::new().await;
    rules(&site, &["/v1/pay json /amount <= 5000 else deny"]).await;
    let url = site.upstream.url("/v1/pay");
    let explain = async |extra: Value| {
        let mut request = json!({"method": "POST", "url": url});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        site.owner.client.post("/admin/policies/api/explain", &request).send().await.expect(200).json()
    };
    let without = explain(json!({})).await;
    assert_eq!(without["decision"], "auto_approve");
    assert!(without["warning"].as_str().unwrap().contains("add `body`"), "{without}");
    let large = explain(json!({"body": "{\"amount\":5001}", "content_type": "application/json"})).await;
    assert_eq!(
        (&large["decision"], &large["rule"], &large["pattern"]),
        (&json!("deny"), &json!("content"), &json!("/v1/pay json /amount <= 5000 else deny"))
    );
    assert_eq!(large["detail"], "/amount is 5001; the rule allows <= 5000");
    let small = explain(json!({"body": "{\"amount\":1}", "content_type": "application/json"})).await;
    assert_eq!((&small["decision"], small.get("warning")), (&json!("auto_approve"), None));
    let arguments = ["policy", "explain", "api", "POST", &url, "--body", "{\"amount\":5001}"];
    let told = site.app.cli(&arguments).await.expect(0).stdout;
    assert!(told.contains("/amount is 5001"), "{told}");
}

/// Paths that a replay of a POST policy with these content rules lists, newest first, each with the warning.
async fn listed(site: &Site, rules: &[&str]) -> Vec<String> {
    let draft = json!({"auto_approve_methods": ["GET", "POST"], "content_rules": rules});
    let request = json!({"policy": draft});
    let replay =
        site.owner.client.post("/admin/policies/api/replay", &request).send().await.expect(200).json();
    let path = |change: &Value| {
        assert_eq!(change["now"]["decision"], change["draft"]["decision"], "{replay}");
        assert!(change["draft"]["warning"].as_str().unwrap().contains("not recorded"), "{replay}");
        let target = change["target"].as_str().unwrap();
        target.strip_prefix(&site.upstream.url("")).unwrap_or(target).trim_start_matches('/').to_owned()
    };
    replay["changed"].as_array().unwrap().iter().map(path).collect()
}

#[tokio::test]
async fn a_draft_that_would_read_bodies_is_told_apart_in_a_replay() {
    let site = Site::new().await;
    rules(&site, &[]).await;
    post_json(&site, "/v1/pay", &json!({"amount": 1})).await.expect(200);
    post_json(&site, "/v1/other", &json!({})).await.expect(200);
    post_json(&site, "/graphql", &json!({"query": "{a}"})).await.expect(200);
    assert_eq!(listed(&site, &["/v1/pay json /amount <= 5"]).await, ["v1/pay"]);
    assert_eq!(listed(&site, &[]).await, [""; 0]);
    // A path that looks like GraphQL is read without a rule, so another rule is another reading.
    assert_eq!(listed(&site, &["/graphql graphql any pass"]).await, ["graphql"]);
    assert_eq!(listed(&site, &["/graphql graphql mutation drop deny"]).await, ["graphql"]);
}

#[tokio::test]
async fn a_draft_that_reads_bodies_otherwise_or_no_longer_is_told_apart_in_a_replay() {
    let site = Site::new().await;
    rules(&site, &["/v1/pay json /amount <= 5000"]).await;
    post_json(&site, "/v1/pay", &json!({"amount": 4000})).await.expect(200);
    post_json(&site, "/v1/other", &json!({})).await.expect(200);
    assert_eq!(listed(&site, &["/v1/pay json /amount <= 1 else deny"]).await, ["v1/pay"]);
    assert_eq!(listed(&site, &[]).await, ["v1/pay"], "what no longer asks is a change too");
    let more = ["/v1/pay json /amount <= 5000", "/v1/pay json /currency = \"eur\""];
    assert_eq!(listed(&site, &more).await, ["v1/pay"]);
    let same = ["/v2 json /amount <= 1", "/v1/pay json /amount <= 5000"];
    assert_eq!(listed(&site, &same).await, [""; 0], "a rule about other requests changes nothing");
}

#[tokio::test]
async fn a_body_that_is_too_long_to_read_is_refused_and_one_that_no_rule_reads_streams() {
    let site = Site::new_with_env("PX_PENDING_BODY_MAX_BYTES", "1024").await;
    rules(&site, &["/v1/pay json /amount <= 5"]).await;
    let long = format!("{{\"amount\":1,\"note\":\"{}\"}}", "x".repeat(4096));
    post(&site, "/v1/pay", "application/json", &long).await.problem(413, "body_too_large");
    assert_eq!(post(&site, "/v1/notes", "application/json", &long).await.status, 200);
}

#[tokio::test]
async fn an_rpc_endpoint_is_not_warned_of_where_a_rule_reads_its_body() {
    let site = Site::new().await;
    let with = |rules: Value| json!({"auto_approve_urls": ["/rpc"], "content_rules": rules});
    let bare = site.owner.set_policy("api", &with(json!([]))).await;
    assert!(bare["warnings"].to_string().contains("every call"), "{bare}");
    let read = site.owner.set_policy("api", &with(json!(["/rpc json /method = \"eth_call\""]))).await;
    assert_eq!(read.get("warnings"), None, "{read}");
    for (method, status) in [("eth_call", 200), ("eth_sendRawTransaction", 202)] {
        assert_eq!(post_json(&site, "/rpc", &json!({"method": method})).await.status, status, "{method}");
    }
}

#[tokio::test]
async fn a_header_that_is_not_sent_does_not_make_a_body_readable() {
    let site = Site::new().await;
    rules(&site, &["/v1/pay json /amount <= 5"]).await;
    let call = site.forward("POST", "/v1/pay").header("content-type", "application/json");
    let call = call.header("connection", "content-type").body(r#"{"amount":1,"x":"&amount=9000&"}"#);
    assert_eq!(call.send().await.status, 202);
}

#[tokio::test]
async fn a_wrong_rule_is_refused_with_what_to_write() {
    let site = Site::new().await;
    let wrong = json!({"content_rules": ["/v1/pay json amount < 5"]});
    let answer = site.owner.client.put("/admin/policies/api", &wrong).send().await;
    let problem = answer.problem(422, "invalid_field");
    assert!(problem.to_string().contains("content_rules"), "{problem}");
    assert!(problem.to_string().contains("JSON pointer"), "{problem}");
}

#[tokio::test]
async fn a_credential_is_stored_together_with_the_policy_to_start_with() {
    let site = Site::new().await;
    let with_policy = |policy: Value| {
        json!({
            "name": "slack", "auth": {"kind": "bearer"}, "secret": "xoxb-0123456789abcdef",
            "allowed_hosts": ["slack.com"], "policy": policy,
        })
    };
    let wrong = site.owner.client.post("/admin/credentials", &with_policy(json!({"min_approvals": 0})));
    wrong.send().await.problem(422, "invalid_field");
    site.owner.client.get("/admin/credentials/slack").send().await.problem(404, "not_found");
    site.owner.add_credential(&with_policy(json!({"auto_approve_urls": ["/api/auth.test"]}))).await;
    let stored = site.owner.client.get("/admin/policies/slack").send().await.expect(200).json();
    assert_eq!(stored["auto_approve_urls"], json!(["/api/auth.test"]));
    let secret = site.app.directory().join("slack.secret");
    std::fs::write(&secret, "xoxb-0123456789abcdef").unwrap();
    let secret = secret.to_str().unwrap();
    let add = [
        "credential",
        "add",
        "--name",
        "chat",
        "--preset",
        "slack",
        "--starter-policy",
        "--secret-file",
        secret,
    ];
    site.app.cli(&add).await.expect(0);
    let read = site.owner.explain("chat", "GET", "https://slack.com/api/conversations.list").await;
    assert_eq!(read["rule"], "auto_url");
    let write = site.owner.explain("chat", "GET", "https://slack.com/api/chat.postMessage?text=x").await;
    assert_eq!(write["decision"], "require_approval");
    let unknown = [
        "credential",
        "add",
        "--name",
        "other",
        "--preset",
        "slac",
        "--starter-policy",
        "--secret-file",
        secret,
    ];
    let refused = site.app.cli(&unknown).await;
    assert!(refused.stderr.contains("unknown preset slac"), "{}", refused.stderr);
}

engines! {
    async fn a_post_that_names_another_method_is_also_judged_as_that_method(setup: Setup) {
        let site = Site::with(setup).await;
        let deny = json!({"auto_approve_methods": ["GET", "POST", "PATCH"], "deny_methods": ["DELETE"]});
        site.policy(&deny).await;
        let before = site.upstream.requests().len();
        post(&site, "/things/1", FORM, "_method=DELETE").await.problem(403, "denied_by_policy");
        post_json(&site, "/things/1", &json!({"_method": "delete"})).await.problem(403, "denied_by_policy");
        let part = "--x\r\nContent-Disposition: form-data; name=\"_method\"\r\n\r\nDELETE\r\n--x--\r\n";
        post(&site, "/things/1", "multipart/form-data; boundary=x", part).await.problem(403, "denied_by_policy");
        for method in ["GET", "POST"] {
            let in_query = site.forward(method, "/things/1?_method=DELETE").send().await;
            in_query.problem(403, "denied_by_policy");
        }
        assert_eq!(site.upstream.requests().len(), before);
        assert_eq!(post(&site, "/things/1", FORM, "_method=PATCH").await.status, 200);
        assert_eq!(post(&site, "/things/1", FORM, "payment_method=DELETE").await.status, 200);
        let asks = post(&site, "/things/1", FORM, "_method=PUT").await.expect(202).txn();
        let page = site.owner.client.get(&format!("/approvals/{asks}")).send().await.expect(200).json();
        assert!(page.to_string().contains("the parameter _method turns the request into PUT"), "{page}");
        // Headers that name a method never leave.
        let call = site.forward("POST", "/things/1").header("x-http-method-override", "DELETE");
        assert_eq!(call.send().await.status, 200);
        let sent = site.upstream.requests().pop().unwrap();
        assert!(!sent.headers.contains_key("x-http-method-override"), "{sent:?}");
    }

    async fn no_grant_covers_a_post_that_names_a_method_which_asks(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"auto_approve_methods": ["GET"]})).await;
        let plain = post(&site, "/things/1", FORM, "a=1").await.expect(202).txn();
        site.owner.approve_with(&plain, &json!({"grant_seconds": 900})).await;
        site.agent.outcome(&plain).await;
        assert_eq!(post(&site, "/things/1", FORM, "a=2").await.status, 200);
        assert_eq!(post(&site, "/things/1", FORM, "a=2&_method=DELETE").await.status, 202);
    }
}

#[tokio::test]
async fn explain_sees_the_method_that_a_body_or_a_query_names() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["GET", "POST"], "deny_methods": ["DELETE"]})).await;
    let explain = async |url: &str, extra: Value| {
        let mut request = json!({"method": "POST", "url": site.upstream.url(url)});
        request.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        site.owner.client.post("/admin/policies/api/explain", &request).send().await.expect(200).json()
    };
    assert_eq!(explain("/a", json!({})).await["decision"], "auto_approve");
    assert_eq!(explain("/a?_method=DELETE", json!({})).await["decision"], "deny");
    let form = explain("/a", json!({"body": "_method=PUT", "content_type": FORM})).await;
    assert_eq!((&form["decision"], &form["rule"]), (&json!("require_approval"), &json!("content")), "{form}");
}
