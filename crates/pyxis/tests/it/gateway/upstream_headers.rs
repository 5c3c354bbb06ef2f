//! Headers that go upstream and those that do not (`docs/reference/credentials.md#kinds`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Reply};
use serde_json::{Value, json};

use crate::support::{SECRET, Setup, Site};

/// Sends a GET with these credential fields and these agent headers, and returns the request as it arrived upstream.
async fn upstream_request(fields: Value, path: &str, headers: &[(&str, &str)]) -> Received {
    let site = Site::bare(Setup::new()).await;
    site.credential("api", &fields).await;
    let mut call = site.forward("GET", path);
    for (name, value) in headers {
        call = call.header(name, value);
    }
    call.send().await.forwarded(200);
    site.upstream.received(1).await.remove(0)
}

#[tokio::test]
async fn bearer_replaces_the_agents_own_authorization() {
    let fields = json!({"auth": {"kind": "bearer"}, "secret": "t0ken-canary"});
    let request = upstream_request(fields, "/", &[("authorization", "Bearer mine")]).await;
    assert_eq!(request.header("authorization"), Some("Bearer t0ken-canary"));
}

#[tokio::test]
async fn one_header_carries_the_secret_as_it_is() {
    let fields = json!({"auth": {"kind": "header", "name": "X-Api-Key"}, "secret": "t0ken-canary"});
    let request = upstream_request(fields, "/", &[("x-api-key", "mine")]).await;
    assert_eq!(request.header("x-api-key"), Some("t0ken-canary"));
}

#[tokio::test]
async fn several_headers_are_formatted_from_fields_of_the_secret() {
    let fields = json!({
        "auth": {"kind": "header", "headers": [
            {"name": "X-App", "format": "id={secret.app}"},
            {"name": "X-Token", "format": "Token {secret.token}; v=1"},
        ]},
        "secret": {"app": "app-canary", "token": "t0ken-canary"},
    });
    let request =
        upstream_request(fields, "/", &[("x-app", "mine"), ("x-token", "mine"), ("x-other", "kept")]).await;
    assert_eq!(request.header("x-app"), Some("id=app-canary"));
    assert_eq!(request.header("x-token"), Some("Token t0ken-canary; v=1"));
    assert_eq!(request.header("x-other"), Some("kept"));
}

#[tokio::test]
async fn no_other_spelling_of_the_credentials_header_arrives() {
    let fields = json!({"auth": {"kind": "header", "name": "X-Api-Key"}, "secret": SECRET});
    let received = upstream_request(
        fields,
        "/",
        &[("x_api_key", "mine"), ("x.api.key", "mine"), ("x-api-keys", "other")],
    )
    .await;
    assert_eq!(received.header("x-api-key"), Some(SECRET));
    assert_eq!((received.header("x_api_key"), received.header("x.api.key")), (None, None));
    assert_eq!(received.header("x-api-keys"), Some("other"));
}

#[tokio::test]
async fn basic_encodes_user_and_password() {
    let expected = format!("Basic {}", STANDARD.encode("user:pa:ss-canary"));
    for secret in [json!({"username": "user", "password": "pa:ss-canary"}), json!("user:pa:ss-canary")] {
        let fields = json!({"auth": {"kind": "basic"}, "secret": secret});
        let request = upstream_request(fields, "/", &[("authorization", "Basic bWluZTo=")]).await;
        assert_eq!(request.header("authorization"), Some(expected.as_str()));
    }
}

#[tokio::test]
async fn query_replaces_the_agents_own_parameter_and_keeps_the_others() {
    let fields = json!({"auth": {"kind": "query", "parameter": "api_key"}, "secret": "a b&c=canary"});
    let request = upstream_request(fields, "/x?a=1&api_key=mine&b=2&api%5Fkey=mine", &[]).await;
    let (path, query) = request.target.split_once('?').unwrap();
    assert_eq!(path, "/x");
    let pairs: Vec<&str> = query.split('&').collect();
    assert_eq!(pairs.len(), 3, "{query}");
    assert!(pairs.contains(&"a=1") && pairs.contains(&"b=2"), "{query}");
    let keys: Vec<&&str> = pairs.iter().filter(|pair| pair.starts_with("api_key=")).collect();
    let encoded = ["api_key=a%20b%26c%3Dcanary", "api_key=a+b%26c%3Dcanary"];
    assert!(keys.len() == 1 && encoded.contains(keys[0]), "{query}");
}

#[tokio::test]
async fn cookie_carries_the_secret_and_the_agents_cookies_stay_behind() {
    let fields = json!({"auth": {"kind": "cookie", "name": "session"}, "secret": "c00kie-canary"});
    let request = upstream_request(fields, "/", &[("cookie", "session=mine; other=1")]).await;
    assert_eq!(request.header("cookie"), Some("session=c00kie-canary"));
}

#[tokio::test]
async fn headers_that_are_not_the_upstreams_business_stay_behind() {
    let fields = json!({"auth": {"kind": "bearer"}, "secret": SECRET});
    let dropped = [
        ("x-px-reason", "why"),
        ("x-oauth-credential", "c"),
        ("x-oauth-target", "https://evil.example.com/"),
        ("x-oauth-anything", "c"),
        ("keep-alive", "timeout=5"),
        ("upgrade", "websocket"),
        ("proxy-authorization", "Basic eDp5"),
        ("proxy-anything", "x"),
        ("cookie", "a=b"),
        ("forwarded", "for=1.2.3.4"),
        ("x-forwarded-for", "1.2.3.4"),
        ("x-forwarded-host", "evil.example.com"),
        ("x-forwarded-proto", "http"),
        ("x-http-method-override", "DELETE"),
        ("x-http-method", "DELETE"),
        ("x-method-override", "DELETE"),
        ("range", "bytes=0-1"),
        ("idempotency-key", "key-1"),
        ("x-hop", "named by connection"),
    ];
    let mut sent = dropped.to_vec();
    sent.extend([
        ("connection", "x-hop, close"),
        ("x-kept", "kept"),
        ("accept", "text/plain"),
        ("user-agent", "agent/1"),
    ]);
    let request = upstream_request(fields, "/", &sent).await;
    for (name, _) in dropped.iter().filter(|(name, _)| *name != "idempotency-key") {
        assert_eq!(request.header(name), None, "{name} went upstream");
    }
    for name in ["x-px-key", "x-px-credential", "x-px-target", "x-px-method"] {
        assert_eq!(request.header(name), None, "{name} went upstream");
    }
    for (name, value) in [("x-kept", "kept"), ("accept", "text/plain"), ("user-agent", "agent/1")] {
        assert_eq!(request.header(name), Some(value));
    }
}

#[tokio::test]
async fn the_host_is_the_targets_and_accept_encoding_is_what_can_be_scrubbed() {
    let site = Site::new().await;
    let call = site
        .forward("GET", "/")
        .header("host", "evil.example.com")
        .header("accept-encoding", "compress, xyz, *");
    call.send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!(request.host, site.upstream.addr().to_string());
    let codings = request.header("accept-encoding").unwrap_or_default();
    for coding in codings.split(',').map(|coding| coding.split(';').next().unwrap().trim()) {
        assert!(["", "identity", "gzip", "deflate", "br", "zstd"].contains(&coding), "{codings}");
    }
}

#[tokio::test]
async fn the_agents_repeated_headers_and_body_type_arrive_as_sent() {
    let site = Site::new().await;
    site.policy(&json!({"auto_approve_methods": ["POST"]})).await;
    let call = site.forward("POST", "/").header("x-many", "1").header("x-many", "2");
    call.header("content-type", "text/x-test; charset=utf-8").body("body").send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    let many: Vec<_> = request.headers.get_all("x-many").iter().collect();
    assert_eq!(many, ["1", "2"]);
    assert_eq!(request.header("content-type"), Some("text/x-test; charset=utf-8"));
    assert_eq!(request.header("content-length"), Some("4"));
    assert_eq!(request.text(), "body");
}

#[tokio::test]
async fn the_upstream_cannot_speak_as_pyxis_nor_set_cookies() {
    let site = Site::new().await;
    site.upstream.reply(
        Reply::new(418)
            .header("px-error", "denied_by_policy")
            .header("px-txn", "5b0c6d0e-0000-4000-8000-000000000000")
            .header("set-cookie", "a=b")
            .header("set-cookie", "c=d")
            .header("connection", "x-hop")
            .header("x-hop", "1")
            .header("x-kept", "kept")
            .body("teapot"),
    );
    let answer = site.forward("GET", "/").send().await.forwarded(418);
    for name in ["px-error", "px-txn", "set-cookie", "x-hop"] {
        assert!(!answer.headers.contains_key(name), "{name} reached the agent");
    }
    assert_eq!((answer.header("x-kept"), answer.text().as_str()), (Some("kept"), "teapot"));
}

engines! {
    async fn a_credential_may_opt_in_to_cookies_of_the_upstream_and_to_the_agents_trace(setup: Setup) {
        let site = Site::bare(setup).await;
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for opted in [true, false] {
            let name = format!("opted-{opted}");
            let options = json!({"allow_set_cookie": opted, "pass_traceparent": opted});
            let fields = json!({"auth": {"kind": "bearer"}, "secret": SECRET, "options": options});
            site.credential(&name, &fields).await;
            site.upstream.reply(Reply::ok("").header("set-cookie", "a=b").header("set-cookie", "c=d"));
            let call = site.agent.forward(&name, "GET", &site.upstream.url("/"));
            let call = call.header("traceparent", trace).header("tracestate", "vendor=1");
            let answer = call.send().await.forwarded(200);
            let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
            assert_eq!(cookies, if opted { vec!["a=b", "c=d"] } else { Vec::new() });
            let request = site.upstream.requests().pop().unwrap();
            let traced = (request.header("traceparent"), request.header("tracestate"));
            assert_eq!(traced, if opted { (Some(trace), Some("vendor=1")) } else { (None, None) });
        }
    }
}

#[tokio::test]
async fn a_sidecar_gets_the_target_and_the_body_by_post() {
    let site = Site::bare(Setup::new()).await;
    let fields = json!({
        "connector": "sidecar", "api_base": site.upstream.url(""),
        "allowed_hosts": ["api.example.com"], "secret": "signer-canary",
    });
    site.credential("signed", &fields).await;
    site.owner.set_policy("signed", &json!({"auto_approve_methods": ["PUT"]})).await;
    let call = site.agent.forward("signed", "PUT", "https://API.example.com/a/../b?x=1#frag");
    let call = call
        .header("authorization", "Bearer mine")
        .header("x-kept", "kept")
        .header("x-oauth-target", "https://evil.example.com/");
    call.header("content-type", "text/plain").body("body").send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("x-oauth-credential"), Some("signed"));
    assert_eq!(request.header("x-oauth-target"), Some("https://api.example.com/b?x=1"));
    assert_eq!(request.header("x-px-method"), Some("PUT"));
    assert_eq!(request.header("authorization"), Some("Bearer signer-canary"));
    assert_eq!(request.header("x-kept"), Some("kept"));
    assert_eq!(request.header("x-px-key"), None);
    assert_eq!((request.header("content-type"), request.text()), (Some("text/plain"), "body"));
}

#[tokio::test]
async fn allowed_hosts_of_a_sidecar_bind_the_target() {
    let site = Site::bare(Setup::new()).await;
    let api_base = site.upstream.url("");
    let fields = json!({"connector": "sidecar", "api_base": api_base, "allowed_hosts": ["api.example.com"]});
    site.credential("signed", &fields).await;
    let call = site.agent.forward("signed", "GET", &site.upstream.url("/"));
    call.send().await.problem(403, "host_not_allowed");
    site.agent
        .forward("signed", "GET", "https://evil.example.com/")
        .send()
        .await
        .problem(403, "host_not_allowed");
    assert_eq!(site.upstream.requests().len(), 0);
}

/// The sidecar's address is the operator's own; a target there is not.
#[tokio::test]
async fn a_private_sidecar_is_reached_and_a_private_target_is_not() {
    let site = Site::bare(Setup::new().without("PX_EGRESS_ALLOW")).await;
    let (api_base, here) = (site.upstream.url(""), site.upstream.addr().to_string());
    let fields =
        json!({"connector": "sidecar", "api_base": api_base, "allowed_hosts": ["api.example.com", here]});
    site.credential("signed", &fields).await;
    let call = site.agent.forward("signed", "GET", &site.upstream.url("/"));
    call.send().await.problem(403, "target_not_allowed");
    assert_eq!(site.upstream.requests().len(), 0);
    let call = site.agent.forward("signed", "GET", "https://api.example.com/x");
    call.send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!(request.header("x-oauth-target"), Some("https://api.example.com/x"));
    // A credential that goes to the target itself cannot reach the same address.
    site.credential("direct", &json!({"auth": {"kind": "bearer"}, "secret": "s"})).await;
    let call = site.agent.forward("direct", "GET", &site.upstream.url("/"));
    call.send().await.problem(403, "target_not_allowed");
    assert_eq!(site.upstream.requests().len(), 1);
}
