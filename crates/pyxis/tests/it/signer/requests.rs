//! Signed and forwarded requests (`docs/reference/signer.md#requests`).

use bytes::Bytes;
use pyxis_testkit::upstream::Upstream;

use super::process::Signer;
use super::verifier;
use crate::support::upload::send_zeros;

/// Much more than the buffers of two connections and what the allocator keeps.
const LARGE: usize = 64 * 1024 * 1024;
const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn signatures_hold_for_every_method_and_shape_of_query() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/a/b%20c/%7Ed?b5=%3D%253D&a3=a&c%40=&a2=r%20b&a3=2+q"),
        ("DELETE", "/x?a&a&=v&%ff=%fe"),
        ("PUT", "/x?q=*!'()"),
        ("PATCH", "/?a=1&&b=2&"),
        ("POST", "/%C3%A9"),
        ("OPTIONS", "/"),
        ("get", "/lower"),
    ] {
        let answer = signer.to(&upstream, method, path).send().await.expect(200);
        assert_eq!(answer.text(), "verified", "{method} {path}");
    }
}

#[tokio::test]
async fn the_named_method_is_signed_and_sent_and_without_one_the_requests_own() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    signer.to(&upstream, "PUT", "/").send().await.expect(200);
    let call = signer.client().call("DELETE", "/").header("x-oauth-credential", "MY_APP");
    call.header("x-oauth-target", &upstream.url("/")).send().await.expect(200);
    let methods: Vec<_> = upstream.received(2).await.iter().map(|request| request.method.clone()).collect();
    assert_eq!(methods, ["PUT", "DELETE"]);
}

#[tokio::test]
async fn a_form_is_part_of_the_signature_and_other_bodies_are_not() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    let call = signer.to(&upstream, "POST", "/update?include=true");
    let form = "status=Hello%20Ladies%20%2b%20Gentlemen&a=+&a=";
    call.header("content-type", &format!("{FORM}; charset=utf-8")).body(form).send().await.expect(200);
    let call = signer.to(&upstream, "POST", "/").header("content-type", "application/json");
    call.body("{\"oauth_token\":\"is only text here\"}").send().await.expect(200);
    let call = signer.to(&upstream, "POST", "/").header("content-type", "text/plain");
    call.body("a=b&c=d").send().await.expect(200);
    let requests = upstream.received(3).await;
    assert_eq!(requests[0].text(), form);
    assert_eq!(requests[0].header("content-type"), Some("application/x-www-form-urlencoded; charset=utf-8"));
}

#[tokio::test]
async fn a_large_body_streams_and_a_large_form_is_refused() {
    let (signer, upstream) = (Signer::start(&[]), Upstream::http().await);
    let (call, sender) =
        signer.to(&upstream, "POST", "/").header("content-type", "application/json").upload();
    let sending = tokio::spawn(async move {
        sender.send(Bytes::from_static(b"{")).await.unwrap();
        sender
    });
    let answer = tokio::spawn(call.send());
    // The beginning arrives before the rest was even created.
    upstream.until(|all| all.iter().any(|request| !request.body.is_empty() && !request.complete)).await;
    let sender = sending.await.unwrap();
    let before = signer.resident_kib();
    send_zeros(sender, LARGE).await;
    answer.await.unwrap().expect(200);
    assert!(signer.resident_kib() < before + LARGE / 1024 / 2, "the body was kept in memory");
    assert_eq!(upstream.received(1).await[0].body.len(), LARGE + 1);

    let form = |size: usize| {
        let call = signer.to(&upstream, "POST", "/").header("content-type", FORM);
        call.body(format!("a={}", "x".repeat(size - 2))).send()
    };
    form(1024 * 1024).await.expect(200);
    form(1024 * 1024 + 1).await.problem(413, "body_too_large");
}

#[tokio::test]
async fn headers_of_the_caller_go_along_but_for_those_of_the_signer_and_the_connection() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    let call = signer.to(&upstream, "GET", "/").header("x-kept", "1").header("accept", "text/plain");
    let call = call.header("authorization", "Bearer of somebody").header("cookie", "a=b");
    let call = call.header("connection", "x-hop").header("x-hop", "1").header("x-oauth-other", "1");
    call.header("proxy-authorization", "Basic eDp5").send().await.expect(200);
    let request = upstream.received(1).await.remove(0);
    assert_eq!((request.header("x-kept"), request.header("accept")), (Some("1"), Some("text/plain")));
    for name in [
        "x-oauth-credential",
        "x-oauth-target",
        "x-oauth-other",
        "x-px-method",
        "cookie",
        "x-hop",
        "proxy-authorization",
    ] {
        assert_eq!(request.header(name), None, "{name}");
    }
    assert!(request.header("authorization").unwrap().starts_with("OAuth "));
    assert_eq!(request.host, upstream.addr().to_string());
}

#[tokio::test]
async fn a_head_request_by_post_gets_the_head_alone() {
    let (signer, upstream) = (Signer::start(&[]), verifier::upstream().await);
    let answer = signer.to(&upstream, "HEAD", "/").send().await.expect(200);
    assert!(answer.body.is_empty());
    assert_eq!(upstream.received(1).await[0].method, "HEAD");
}

/// Once in the environment, which belongs to the system, and once where the signer holds it. Only the ends of secrets
/// are searched for, because an allocator overwrites the beginning of freed memory.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_signs_is_in_memory_once_before_and_after_many_requests() {
    const SECRET: &str = "canary7Qx2Zr9T4K5m8N1b3V6c0X7z2L9k4J5hG8f";
    const TOKEN_SECRET: &str = "canary3Wp6Ld1Ys8Ht5Fj2Rb9Ec4Un7Mv0Ak6Qo1Gi";
    let variables = [
        ("OAUTH_CRED_KEPT_CONSUMER_KEY", "key"),
        ("OAUTH_CRED_KEPT_CONSUMER_SECRET", SECRET),
        ("OAUTH_CRED_KEPT_ACCESS_TOKEN", "token"),
        ("OAUTH_CRED_KEPT_ACCESS_TOKEN_SECRET", TOKEN_SECRET),
    ];
    let (signer, upstream) = (Signer::start(&variables), Upstream::http().await);
    // The key of a signature is the one secret, `&` and the other one.
    let key = format!("&{TOKEN_SECRET}");
    let words = [&SECRET[16..], &TOKEN_SECRET[16..], key.as_str()];
    assert_eq!(signer.copies(words), [2, 2, 0]);
    for _ in 0..200 {
        let call = signer.client().call("POST", "/").header("x-oauth-credential", "kept");
        call.header("x-oauth-target", &upstream.url("/")).send().await.expect(200);
    }
    assert_eq!(signer.copies(words), [2, 2, 0]);
}
