//! Control headers, the agent's key, the order of the checks (`docs/reference/behavior/proxy.md#control-headers`).

use pyxis_testkit::engines;
use serde_json::json;

use crate::support::{Setup, Site};

#[tokio::test]
async fn without_a_key_nothing_else_is_looked_at() {
    let site = Site::new().await;
    let anonymous = site.app.anonymous();
    let bare = anonymous.call("POST", "/forward").send().await;
    bare.problem(401, "missing_key");
    let nonsense =
        anonymous.call("POST", "/forward").header("x-px-nonsense", "1").header("x-px-method", "CONNECT");
    nonsense.send().await.problem(401, "missing_key");
    for key in ["nonsense", "px_agent_0000000000000000000000000000000000000000000000000000000000000000"] {
        let answer = site.forward("CONNECT", "/").set("x-px-key", key).header("x-px-body", "x").send().await;
        answer.problem(401, "invalid_key");
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

engines! {
    async fn a_disabled_agent_is_refused_and_let_in_again(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
        site.forward("GET", "/").send().await.problem(401, "invalid_key");
        site.app.cli(&["agent", "enable", "default-agent"]).await.expect(0);
        site.forward("GET", "/").send().await.forwarded(200);
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_rotated_key_replaces_the_old_one(setup: Setup) {
        let site = Site::with(setup).await;
        let new = site.app.cli_json(&["agent", "rotate", "default-agent"]).await;
        site.forward("GET", "/").send().await.problem(401, "invalid_key");
        let key = new["key"].as_str().or(new["agent_key"].as_str()).expect("a key");
        site.app.agent(key).forward("api", "GET", &site.upstream.url("/")).send().await.forwarded(200);
    }
}

#[tokio::test]
async fn a_refusal_that_somebody_can_do_something_about_says_what() {
    let site = Site::new().await;
    let (url, far) = (site.upstream.url("/"), "https://a.example.com/");
    for (call, status, code, what) in [
        (site.forward("GET", "/").without("x-px-key"), 401, "missing_key", "agent key"),
        (site.forward("GET", "/").set("x-px-key", "nonsense"), 401, "invalid_key", "new agent key"),
        (site.agent.forward("nothing", "GET", &url), 404, "credential_not_found", "/agent/services"),
        (site.agent.forward("api", "GET", far), 403, "host_not_allowed", "allowed_hosts"),
    ] {
        let problem = call.send().await.problem(status, code);
        assert!(problem["agent_action"].as_str().is_some_and(|text| text.contains(what)), "{problem}");
    }
}

#[tokio::test]
async fn a_missing_control_header_is_named() {
    let site = Site::new().await;
    for name in ["x-px-credential", "x-px-target"] {
        let problem = site.forward("GET", "/").without(name).send().await.problem(400, "missing_header");
        let detail = problem["detail"].as_str().unwrap().to_ascii_lowercase();
        assert!(detail.contains(name), "{detail}");
    }
}

#[tokio::test]
async fn an_invented_control_header_is_refused_with_the_list_of_real_ones() {
    let site = Site::new().await;
    for name in ["x-px-body", "X-PX-Headers", "x-px-"] {
        let answer = site.forward("GET", "/").header(name, "x").send().await;
        let problem = answer.problem(400, "unknown_header").to_string().to_ascii_lowercase();
        for known in ["x-px-credential", "x-px-target", "x-px-method", "x-px-reason"] {
            assert!(problem.contains(known), "{known} is missing in {problem}");
        }
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_control_header_that_comes_twice_is_refused() {
    let site = Site::new().await;
    for (name, value) in [
        ("x-px-credential", "api"),
        ("x-px-target", "http://127.0.0.1/"),
        ("x-px-method", "GET"),
        ("x-px-reason", "because"),
        ("idempotency-key", "k"),
    ] {
        let call = site.forward("GET", "/").set(name, value).header(name, value);
        call.send().await.problem(400, "duplicate_header");
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn the_method_is_get_unless_said_and_may_be_written_small() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]})).await;
    site.forward("GET", "/").without("x-px-method").send().await.forwarded(200);
    for method in ["post", "Put", "PATCH", "delete", "options", "head"] {
        site.forward(method, "/").send().await.forwarded(200);
    }
    let methods: Vec<String> = site.upstream.requests().iter().map(|it| it.method.to_string()).collect();
    assert_eq!(methods, ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]);
}

#[tokio::test]
async fn a_method_that_is_no_plain_http_method_is_refused() {
    let site = Site::new().await;
    for method in ["CONNECT", "TRACE", "connect", "trace", "FETCH", "GE T", ""] {
        site.forward(method, "/").send().await.problem(400, "invalid_method");
    }
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_reason_over_a_kibibyte_is_refused() {
    let site = Site::new().await;
    let ok = site.forward("POST", "/").header("x-px-reason", &"r".repeat(1024)).send().await;
    assert_eq!(ok.status, 202);
    let long = site.forward("POST", "/b").header("x-px-reason", &"r".repeat(1025)).send().await;
    assert_eq!(long.status, 400, "{}", long.text());
    assert!(long.header("px-error").is_some());
}

#[tokio::test]
async fn an_unknown_credential_and_one_not_granted_get_the_same_answer() {
    let site = Site::new().await;
    let other = site.owner.add_agent(&json!({"name": "narrow", "credentials": []})).await;
    let narrow = site.app.agent(other["key"].as_str().unwrap());
    let target = site.upstream.url("/");
    let mut unknown =
        site.agent.forward("nothing", "GET", &target).send().await.problem(404, "credential_not_found");
    let mut withheld =
        narrow.forward("api", "GET", &target).send().await.problem(404, "credential_not_found");
    for problem in [&mut unknown, &mut withheld] {
        problem["request_id"] = json!(null);
        let detail = problem["detail"].as_str().unwrap();
        problem["detail"] = json!(detail.replace("nothing", "api"));
    }
    assert_eq!(unknown, withheld);
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn an_unknown_credential_comes_before_its_hosts_and_control_headers_before_it() {
    let site = Site::new().await;
    let far = "https://not-allowed.example.com/";
    site.agent.forward("nothing", "GET", far).send().await.problem(404, "credential_not_found");
    site.agent.forward("nothing", "TRACE", far).send().await.problem(400, "invalid_method");
    site.agent.forward("nothing", "GET", "nonsense").send().await.problem(400, "invalid_target");
    site.agent.forward("api", "GET", far).send().await.problem(403, "host_not_allowed");
}

#[tokio::test]
async fn a_deny_rule_refuses_before_anybody_is_asked() {
    let site = Site::new().await;
    site.policy(
        &json!({"deny_methods": ["DELETE"], "deny_urls": ["/secret"], "require_approval_urls": ["/secret"]}),
    )
    .await;
    site.forward("DELETE", "/x").send().await.problem(403, "denied_by_policy");
    site.forward("POST", "/secret/x").send().await.problem(403, "denied_by_policy");
    let inbox = site.owner.client.get("/approvals").send().await.expect(200).json();
    assert_eq!(inbox["approvals"], json!([]));
    assert_eq!(site.upstream.requests().len(), 0);
}

engines! {
    async fn a_disabled_agent_cannot_poll_either(setup: Setup) {
        let site = Site::with(setup).await;
        let path = format!("/agent/approvals/{}", site.pause("/x").await);
        site.agent.client.get(&path).send().await.expect(200);
        site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
        for path in [path.as_str(), "/agent/services"] {
            site.agent.client.get(path).send().await.problem(401, "invalid_key");
        }
        site.agent.client.delete(&path).send().await.problem(401, "invalid_key");
    }
}
