//! Policy evaluation and defaults, seen from outside; explain must agree with `/forward`
//! (`docs/reference/policy.md#evaluation`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{SECRET, Setup, Site};

/// The decision of `/forward` about a request, in the words of explain.
async fn happens(site: &Site, method: &str, path: &str) -> &'static str {
    let before = site.upstream.requests().len();
    let answer = site.forward(method, path).send().await;
    let sent = site.upstream.requests().len() - before;
    match (answer.status, answer.header("px-error"), sent) {
        (200, None, 1) => "auto_approve",
        (202, None, 0) => "require_approval",
        (403, Some("denied_by_policy"), 0) => "deny",
        other => panic!("{method} {path}: {other:?}"),
    }
}

/// Checks rows of method, path, decision and rule on both explain and `/forward`.
async fn agree(site: &Site, rows: &[(&str, &str, &str, &str)]) {
    for (method, path, decision, rule) in rows {
        let explained = site.owner.explain("api", method, &site.upstream.url(path)).await;
        assert_eq!(
            (&explained["decision"], &explained["rule"]),
            (&json!(decision), &json!(rule)),
            "{method} {path}"
        );
        assert!(explained["detail"].as_str().is_some_and(|text| !text.is_empty()));
        assert_eq!(happens(site, method, path).await, *decision, "{method} {path}");
    }
}

engines! {
    async fn the_five_rules_decide_in_their_order(setup: Setup) {
        let site = Site::with(setup).await;
        let policy = json!({
            "auto_approve_methods": ["GET", "put"],
            "require_approval_methods": ["PUT", "DELETE"],
            "auto_approve_urls": ["/open", "/item/*/public", format!("{}/hosted", site.upstream.addr())],
            "require_approval_urls": ["/open/but/asked", "/ask/"],
            "deny_urls": ["/open/never"],
            "deny_methods": ["OPTIONS"],
        });
        site.policy(&policy).await;
        agree(&site, &[
            ("GET", "/open/but/asked", "require_approval", "require_url"),
            ("GET", "/open/but/asked/too?x=1", "require_approval", "require_url"),
            ("GET", "/ask", "require_approval", "require_url"),
            ("GET", "/open//but/asked", "require_approval", "require_url"),
            ("DELETE", "/open", "auto_approve", "auto_url"),
            ("DELETE", "/open/x?q=/open/but/asked", "auto_approve", "auto_url"),
            ("DELETE", "/opened", "require_approval", "require_method"),
            ("DELETE", "/item/7/public", "auto_approve", "auto_url"),
            ("DELETE", "/item/public", "require_approval", "require_method"),
            ("DELETE", "/item/7/8/public", "require_approval", "require_method"),
            ("DELETE", "/item//public", "require_approval", "require_method"),
            ("DELETE", "/hosted/x", "auto_approve", "auto_url"),
            ("GET", "/other", "auto_approve", "auto_method"),
            ("HEAD", "/other", "auto_approve", "auto_method"),
            ("PUT", "/other", "auto_approve", "auto_method"),
            ("POST", "/other", "require_approval", "default"),
            ("OPTIONS", "/open", "deny", "deny"),
            ("GET", "/open/never/x", "deny", "deny"),
        ]).await;
    }

    async fn without_a_policy_gated_mode_asks_for_writes(setup: Setup) {
        let site = Site::with(setup).await;
        agree(&site, &[
            ("GET", "/", "auto_approve", "gated_default"),
            ("HEAD", "/", "auto_approve", "gated_default"),
            ("POST", "/1", "require_approval", "gated_default"),
            ("PUT", "/2", "require_approval", "gated_default"),
            ("PATCH", "/3", "require_approval", "gated_default"),
            ("DELETE", "/4", "require_approval", "gated_default"),
            ("OPTIONS", "/5", "require_approval", "gated_default"),
        ]).await;
    }

    async fn autonomous_mode_passes_everything_until_there_is_a_policy(setup: Setup) {
        let site = Site::with(setup).await;
        let mode = json!({"default_approval_mode": "autonomous"});
        site.owner.client.patch("/admin/settings", &mode).send().await.expect(200);
        agree(&site, &[
            ("GET", "/", "auto_approve", "autonomous_default"),
            ("DELETE", "/", "auto_approve", "autonomous_default"),
        ]).await;
        site.policy(&json!({"channel": "dashboard"})).await;
        agree(&site, &[("GET", "/", "require_approval", "default")]).await;
        site.owner.client.delete("/admin/policies/api").send().await.expect(204);
        agree(&site, &[("POST", "/", "auto_approve", "autonomous_default")]).await;
    }
}

engines! {
    async fn a_replay_tells_what_a_draft_would_change_and_changes_nothing(setup: Setup) {
        let site = Site::with(setup).await;
        site.forward("GET", "/read").send().await.forwarded(200);
        site.forward("POST", "/write").send().await.txn();
        site.forward("PUT", "/write").send().await.txn();
        let draft = json!({"deny_methods": ["GET"], "auto_approve_methods": ["PUT"]});
        let replay = async |body: &Value| {
            site.owner.client.post("/admin/policies/api/replay", body).send().await.expect(200).json()
        };
        let replayed = replay(&json!({"policy": draft})).await;
        assert_eq!(replayed["checked"], 3);
        let told = |change: &Value| {
            let (now, draft) = (&change["now"]["decision"], &change["draft"]["decision"]);
            [&change["method"], &change["target"], now, draft].map(|value| value.as_str().unwrap().to_owned())
        };
        let changed: Vec<_> = replayed["changed"].as_array().unwrap().iter().map(told).collect();
        let (read, write) = (site.upstream.url("/read"), site.upstream.url("/write"));
        let expected = [
            ["PUT", &write, "require_approval", "auto_approve"],
            ["GET", &read, "auto_approve", "deny"],
        ];
        assert_eq!(changed, expected.map(|change| change.map(str::to_owned)));
        assert_eq!(replay(&json!({"policy": draft, "last": 1})).await["checked"], 1);
        let refused = json!({"policy": {"deny_urls": ["/x*"]}});
        let refused = site.owner.client.post("/admin/policies/api/replay", &refused);
        refused.send().await.problem(422, "invalid_field");
        site.forward("GET", "/read").send().await.forwarded(200);
    }
}

#[tokio::test]
async fn explain_refuses_what_forward_would_not_take() {
    let site = Site::new().await;
    for url in ["nonsense", "ftp://127.0.0.1/", "http://user@127.0.0.1/"] {
        let explained = site.owner.explain("api", "GET", url).await;
        assert_eq!(
            (&explained["decision"], &explained["rule"]),
            (&json!("refuse"), &json!("target")),
            "{url}"
        );
    }
    let explained = site.owner.explain("api", "GET", "https://other.example.com/").await;
    assert_eq!((&explained["decision"], &explained["rule"]), (&json!("refuse"), &json!("allowed_hosts")));
    let named = site
        .owner
        .client
        .post("/admin/policies/nothing/explain", &json!({"method": "GET", "url": "https://a.example.com/"}));
    named.send().await.problem(404, "not_found");
}

#[tokio::test]
async fn explain_refuses_an_address_that_the_guard_refuses_without_a_look_up() {
    let site = Site::bare(Setup::new().without("PX_EGRESS_ALLOW")).await;
    let hosts = ["169.254.169.254", "localhost", "intranet", "api.example.com:25"];
    let fields = json!({"auth": {"kind": "bearer"}, "secret": "a-canary", "allowed_hosts": hosts});
    site.credential("inner", &fields).await;
    for host in hosts {
        let url = format!("https://{host}/");
        let explained = site.owner.explain("inner", "GET", &url).await;
        let seen = (&explained["decision"], &explained["rule"]);
        assert_eq!(seen, (&json!("refuse"), &json!("target")), "{host}");
        site.agent.forward("inner", "GET", &url).send().await.problem(403, "target_not_allowed");
    }
}

#[tokio::test]
async fn explain_refuses_an_agent_that_cannot_use_the_credential() {
    let site = Site::new().await;
    let explain = async |agent: &str| {
        let body = json!({"method": "GET", "url": site.upstream.url("/x"), "agent": agent});
        let answer = site.owner.client.post("/admin/policies/api/explain", &body).send().await.expect(200);
        answer.json()["decision"].as_str().unwrap().to_owned()
    };
    site.owner.add_agent(&json!({"name": "narrow", "credentials": []})).await;
    assert_eq!(explain("narrow").await, "refuse");
    assert_eq!(explain("default-agent").await, "auto_approve");
    site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
    assert_eq!(explain("default-agent").await, "refuse");
}

#[tokio::test]
async fn explain_names_the_pattern_that_matched() {
    let site = Site::new().await;
    site.policy(&json!({"require_approval_urls": ["/a", "/b/*"]})).await;
    let explained = site.owner.explain("api", "GET", &site.upstream.url("/b/1/x")).await;
    assert_eq!(explained["pattern"], "/b/*");
}

#[tokio::test]
async fn a_trailing_slash_in_an_auto_pattern_is_meant() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_urls": ["/v1/"], "require_approval_urls": ["/v2/"]})).await;
    agree(
        &site,
        &[
            ("GET", "/v1", "require_approval", "default"),
            ("GET", "/v1/", "auto_approve", "auto_url"),
            ("GET", "/v1/x", "auto_approve", "auto_url"),
            ("GET", "/v1beta", "require_approval", "default"),
            ("GET", "/v2", "require_approval", "require_url"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_policy_with_a_bad_value_is_refused_by_the_name_of_its_field() {
    let site = Site::new().await;
    let rows: &[(&str, Value)] = &[
        ("auto_approve_methods", json!(["HEAD"])),
        ("auto_approve_methods", json!(["CONNECT"])),
        ("require_approval_methods", json!(["FETCH"])),
        ("deny_methods", json!("GET")),
        ("auto_approve_urls", json!(["https://a.example.com/x"])),
        ("auto_approve_urls", json!(["/x?y=1"])),
        ("auto_approve_urls", json!(["/x#y"])),
        ("auto_approve_urls", json!(["user@a.example.com/x"])),
        ("auto_approve_urls", json!(["/x/../y"])),
        ("auto_approve_urls", json!(["/x/%2e%2e/y"])),
        ("auto_approve_urls", json!([""])),
        ("require_approval_urls", json!(["/x/a*"])),
        ("require_approval_urls", json!(["*.example.com/x"])),
        ("deny_urls", json!(["/x*"])),
        ("allowed_approvers", json!(["nobody"])),
        ("channel", json!("pigeon")),
        ("min_approvals", json!(0)),
        ("min_approvals", json!("2")),
        ("passkey_required", json!("yes")),
        ("approval_timeout_secs", json!(-1)),
        ("approval_timeout_secs", json!(0)),
        ("invented", json!(1)),
    ];
    for (field, value) in rows {
        let body = json!({*field: value});
        let problem = site.owner.client.put("/admin/policies/api", &body).send().await;
        assert_eq!(problem.status, 422, "{body}: {}", problem.text());
        assert!(problem.json()["detail"].as_str().unwrap().contains(field), "{body}: {}", problem.text());
    }
    let call =
        site.owner.client.call("PUT", "/admin/policies/api").header("content-type", "application/json");
    assert_eq!(call.body("{").send().await.status, 400);
    assert_eq!(site.owner.client.get("/admin/policies/api").send().await.status, 404);
}

#[tokio::test]
async fn a_policy_is_returned_with_its_defaults() {
    let site = Site::new().await;
    let policy = site
        .owner
        .set_policy(
            "api",
            &json!({"auto_approve_methods": ["get", "GET"], "require_approval_methods": ["get"]}),
        )
        .await;
    assert!(policy["auto_approve_methods"].as_array().unwrap().contains(&json!("GET")), "{policy}");
    for (field, value) in [
        ("require_approval_methods", json!(["GET"])),
        ("auto_approve_urls", json!([])),
        ("require_approval_urls", json!([])),
        ("allowed_approvers", json!([])),
        ("channel", json!("agent_reflected")),
        ("min_approvals", json!(1)),
        ("passkey_required", json!(false)),
    ] {
        assert_eq!(policy[field], value, "{field}");
    }
    agree(&site, &[("GET", "/", "auto_approve", "auto_method")]).await;
}

#[tokio::test]
async fn a_credential_with_a_bad_value_is_refused_by_the_name_of_its_field() {
    let site = Site::new().await;
    let good = json!({"name": "new", "auth": {"kind": "bearer"}, "secret": "s3cret-canary", "allowed_hosts": ["api.example.com"]});
    let rows: &[(&str, Value)] = &[
        ("name", json!("")),
        ("name", json!("-x")),
        ("name", json!("a b")),
        ("name", json!("x".repeat(65))),
        ("connector", json!("tunnel")),
        ("auth", json!({"kind": "magic"})),
        ("secret", json!(7)),
        ("allowed_hosts", json!(["https://api.example.com"])),
        ("allowed_hosts", json!(["api.*.com"])),
        ("allowed_hosts", json!(["*"])),
        ("allow_http", json!("yes")),
        ("invented", json!(1)),
    ];
    for (field, value) in rows {
        let mut body = good.clone();
        body[*field] = value.clone();
        let problem = site.owner.client.post("/admin/credentials", &body).send().await;
        assert_eq!(problem.status, 422, "{body}: {}", problem.text());
        assert!(problem.json()["detail"].as_str().unwrap().contains(field), "{body}: {}", problem.text());
        problem.hides("s3cret-canary");
    }
    let created = site.owner.add_credential(&good).await;
    assert_eq!((&created["name"], &created["version"]), (&json!("new"), &json!(1)));
    for name in ["new", "NEW"] {
        let mut same = good.clone();
        same["name"] = json!(name);
        assert_eq!(site.owner.client.post("/admin/credentials", &same).send().await.status, 409);
    }
}

#[tokio::test]
async fn require_reason_asks_the_agent_for_one() {
    let site = Site::new().await;
    site.policy(&json!({"require_reason": true})).await;
    let answer = site.forward("POST", "/").send().await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().to_ascii_lowercase().contains("x-px-reason"), "{}", answer.text());
    let txn = site.forward("POST", "/").header("x-px-reason", "the build is red").send().await.txn();
    let seen = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
    assert_eq!(seen["reason"], "the build is red");
}

#[tokio::test]
async fn services_tell_an_agent_what_would_happen() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["GET"], "deny_methods": ["DELETE"]})).await;
    let services = site.agent.client.get("/agent/services").send().await.expect(200);
    services.hides(crate::support::SECRET);
    let text = services.text();
    for outcome in ["proceeds", "pauses", "denied"] {
        assert!(text.contains(outcome), "{outcome}: {text}");
    }
    site.app.anonymous().get("/agent/services").send().await.problem(401, "missing_key");
}

#[tokio::test]
async fn an_rpc_endpoint_that_passes_is_warned_of_and_a_graphql_endpoint_is_read() {
    let site = Site::new().await;
    let hosts = json!(["api.github.com", "shop.myshopify.com", "api.example.com"]);
    site.credential("known", &json!({"auth": {"kind": "bearer"}, "secret": SECRET, "allowed_hosts": hosts}))
        .await;
    let policy = json!({"auto_approve_methods": ["GET", "POST"], "auto_approve_urls": ["/v1/jsonrpc", "/v1/gql", "/v1/items"]});
    let stored = site.owner.set_policy("known", &policy).await;
    let warnings = stored["warnings"].to_string();
    for part in ["/v1/jsonrpc", "every call is allowed"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    // Content rules see what a GraphQL request does: a mutation asks.
    for part in ["/v1/items", "/v1/gql", "graphql"] {
        assert!(!warnings.contains(part), "{part}: {warnings}");
    }
    for (method, url, expected) in [
        ("POST", "https://api.github.com/graphql", Some("read the body")),
        ("POST", "https://shop.myshopify.com/admin/api/2024-10/graphql.json", Some("read the body")),
        ("PATCH", "https://api.example.com/v1/gql", Some("read the body")),
        ("POST", "https://api.example.com/jsonrpc", Some("RPC")),
        ("POST", "https://api.example.com/v1/items", None),
        ("GET", "https://api.github.com/graphql", None),
        ("DELETE", "https://api.github.com/graphql", None),
    ] {
        let explained = site.owner.explain("known", method, url).await;
        let warning = explained["warning"].as_str();
        assert_eq!(warning.is_some(), expected.is_some(), "{method} {url}: {explained}");
        assert!(warning.unwrap_or_default().contains(expected.unwrap_or_default()), "{explained}");
    }
    let arguments = ["policy", "explain", "known", "POST", "https://api.github.com/graphql"];
    let told = site.app.cli(&arguments).await.expect(0).stdout;
    assert!(told.contains("warning: content rules read the body"), "{told}");
    let careful = json!({"auto_approve_methods": ["GET"], "require_approval_urls": ["/graphql"]});
    let stored = site.owner.set_policy("known", &careful).await;
    assert_eq!(stored.get("warnings"), None, "{stored}");
}
