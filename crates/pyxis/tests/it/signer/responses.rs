//! Responses and errors (`docs/reference/signer.md#responses`).

use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use super::process::Signer;
use super::verifier;

#[tokio::test]
async fn health_lists_the_credentials_and_needs_no_token() {
    let signer = Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]);
    let answer = signer.client().get("/health").send().await.expect(200);
    assert_eq!(answer.json(), json!({"status": "ok", "credentials": ["my-app"]}));
    signer.client().post("/health", &json!({})).send().await.problem(405, "method_not_allowed");
}

#[tokio::test]
async fn a_token_is_demanded_where_one_is_set_and_never_sent_on() {
    let (signer, upstream) = (Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]), verifier::upstream().await);
    signer.to(&upstream, "GET", "/").send().await.problem(401, "unauthenticated");
    for wrong in ["Bearer sesam", "Bearer sesame2", "Basic sesame", "sesame", "Bearer"] {
        let call = signer.to(&upstream, "GET", "/").header("authorization", wrong);
        call.send().await.problem(401, "unauthenticated");
    }
    signer.to(&upstream, "GET", "/").header("authorization", "bearer sesame").send().await.expect(200);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn what_authenticates_is_taken_from_the_answer() {
    let (signer, upstream) = (Signer::start(&[]), Upstream::http().await);
    let reply = Reply::new(401).header("www-authenticate", "OAuth realm=\"x\"").header("set-cookie", "a=b");
    let reply = reply.header("authorization", "x").header("proxy-authenticate", "Basic");
    let reply = reply.header("proxy-authorization", "x").header("px-error", "forged");
    upstream.reply(reply.header("x-kept", "1").header("proxy-authentication-info", "x").body("no"));
    let answer = signer.to(&upstream, "GET", "/").send().await.expect(401);
    for name in [
        "www-authenticate",
        "set-cookie",
        "authorization",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-authentication-info",
        "px-error",
    ] {
        assert!(!answer.headers.contains_key(name), "{name}");
    }
    assert_eq!((answer.header("x-kept"), answer.text().as_str()), (Some("1"), "no"));
}

#[tokio::test]
async fn an_answer_streams_and_a_redirect_is_not_followed() {
    let (signer, upstream) = (Signer::start(&[]), Upstream::http().await);
    upstream.reply(Reply::new(302).header("location", "https://elsewhere.example/"));
    let answer = signer.to(&upstream, "GET", "/").send().await.expect(302);
    assert_eq!(answer.header("location"), Some("https://elsewhere.example/"));
    let (reply, chunks) = Reply::streaming();
    upstream.reply(reply);
    let mut opened = signer.to(&upstream, "GET", "/").open().await;
    chunks.send("one");
    assert_eq!(opened.chunk().await.unwrap(), "one");
    chunks.send("two");
    assert_eq!(opened.chunk().await.unwrap(), "two");
}

#[tokio::test]
async fn a_request_that_does_not_say_what_is_wanted_is_refused() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    let url = upstream.url("/");
    let bare = || signer.client().call("POST", "/");
    bare().send().await.problem(400, "missing_header");
    bare().header("x-oauth-credential", "my-app").send().await.problem(400, "missing_header");
    bare().header("x-oauth-target", &url).send().await.problem(400, "missing_header");
    for name in ["x-oauth-credential", "x-oauth-target", "x-px-method"] {
        let call = signer.to(&upstream, "GET", "/").header(name, "again");
        call.send().await.problem(400, "duplicate_header");
    }
    for method in ["TRACE", "CONNECT", "FETCH", "G ET"] {
        signer.to(&upstream, method, "/").send().await.problem(400, "invalid_method");
    }
    for target in ["/relative", "ftp://example.com/", "https://u:p@example.com/", "https://", "not a url"] {
        signer.call("GET", target).send().await.problem(400, "invalid_target");
    }
    signer.to(&upstream, "GET", "/?oauth_token=x").send().await.problem(400, "oauth_parameter");
    let call = signer.to(&upstream, "POST", "/").header("content-type", "application/x-www-form-urlencoded");
    call.body("oauth_nonce=x").send().await.problem(400, "oauth_parameter");
    let unknown = signer.to(&upstream, "GET", "/").set("x-oauth-credential", "other").send().await;
    assert_eq!(unknown.problem(404, "credential_not_found")["credentials"], json!(["my-app"]));
    signer.client().get("/elsewhere").send().await.problem(404, "not_found");
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn plain_http_and_private_targets_need_the_operators_word() {
    let strict = Signer::start_with(&super::process::my_app());
    let upstream = verifier::upstream().await;
    strict.to(&upstream, "GET", "/").send().await.problem(400, "invalid_target");
    for target in ["https://127.0.0.1/", "https://localhost/", "https://169.254.169.254/", "https://[::1]/"] {
        strict.call("GET", target).send().await.problem(403, "target_not_allowed");
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_target_that_cannot_be_reached_is_502_and_a_silent_one_504() {
    let signer = Signer::start(&[("PX_FORWARD_TIMEOUT_SECS", "3")]);
    let gone = Upstream::http().await.url("/");
    signer.call("GET", &gone).send().await.problem(502, "upstream_error");
    let upstream = Upstream::http().await;
    let (reply, _release) = Reply::ok("late").hold();
    upstream.reply(reply);
    signer.to(&upstream, "GET", "/").send().await.problem(504, "upstream_timeout");
    upstream.reply(Reply::abort());
    signer.to(&upstream, "GET", "/").send().await.problem(502, "upstream_error");
}

#[tokio::test]
async fn a_request_that_may_have_been_carried_out_is_said_to_be_so() {
    let signer = Signer::start(&[("PX_FORWARD_TIMEOUT_SECS", "3")]);
    let gone = Upstream::http().await.url("/");
    let problem = signer.call("POST", &gone).send().await.problem(502, "upstream_error");
    assert!(problem["detail"].as_str().unwrap().contains("nothing was sent"), "{problem}");
    let upstream = Upstream::http().await;
    let (reply, _release) = Reply::ok("late").hold();
    upstream.reply(reply);
    signer.to(&upstream, "POST", "/").send().await.problem(504, "outcome_unknown");
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        upstream.reply(Reply::abort());
        signer.to(&upstream, method, "/").send().await.problem(502, "outcome_unknown");
    }
    assert_eq!(upstream.connections(), 5, "each over a connection of its own");
}
