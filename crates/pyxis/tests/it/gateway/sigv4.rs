//! `aws_sigv4`, in front of an upstream that verifies each signature (`docs/reference/credentials.md#signing-kinds`).

pub(crate) mod verifier;

use serde_json::json;

use super::signing_kinds::{free, verified};
use crate::signer::signed_bytes::Dice;
use crate::support::{Setup, Site};

/// The verifier's keys as `aws` and, with another secret, as `other`.
async fn site(service: &'static str) -> Site {
    let mut site = Site::bare(Setup::new()).await;
    site.upstream = verifier::upstream(service).await;
    for (name, secret) in [("aws", verifier::SECRET_ACCESS_KEY), ("other", "another secret")] {
        let keys = json!({
            "access_key_id": verifier::ACCESS_KEY_ID, "secret_access_key": secret, "session_token": "sess",
        });
        let auth = json!({"kind": "aws_sigv4", "region": verifier::REGION, "service": service});
        site.credential(name, &json!({"auth": auth, "secret": keys})).await;
        free(&site, name).await;
    }
    site
}

/// A type and a body, or neither.
fn body(dice: &mut Dice, form: Option<String>) -> Option<(&'static str, Vec<u8>)> {
    if let Some(form) = form {
        return Some(("application/x-www-form-urlencoded", form.into_bytes()));
    }
    match dice.below(3) {
        0 => Some(("application/json", json!({"n": dice.below(1000)}).to_string().into_bytes())),
        1 => Some(("application/octet-stream", (0..dice.below(3000)).map(|_| dice.byte()).collect())),
        _ => None,
    }
}

#[tokio::test]
async fn hundreds_of_generated_requests_are_verified_as_they_arrive() {
    for service in ["execute-api", "s3"] {
        let site = site(service).await;
        let (mut dice, mut bodies) = (Dice(0x4a35), 0);
        for _ in 0..150 {
            let (method, target, form) = dice.request();
            let mut call = site.agent.forward("aws", method, &site.upstream.url(&target));
            let body = if method == "GET" { None } else { body(&mut dice, form) };
            if let Some((kind, body)) = body.clone() {
                bodies += 1;
                call = call.header("content-type", kind).body(body);
            }
            if dice.below(2) == 0 {
                call = call.header("x-amz-meta-note", "b   b").header("x-amz-meta-note", "a");
            }
            let answer = call.send().await;
            let told = (answer.status, answer.text());
            assert_eq!(told, (200, "verified".to_owned()), "{service}: {method} {target} {body:?}");
        }
        assert!(bodies > 60, "{bodies} bodies");
    }
}

#[tokio::test]
async fn another_secret_is_refused_and_the_probe_tells() {
    let site = site("execute-api").await;
    let url = site.upstream.url("/prod/items?b=2&a=1");
    site.agent.forward("aws", "GET", &url).send().await.forwarded(200);
    verified(&site, "aws", &url).await;
    let answer = site.agent.forward("other", "GET", &url).send().await.forwarded(403);
    assert!(answer.text().starts_with("SignatureDoesNotMatch"), "{}", answer.text());
    let path = "/admin/credentials/other/verify";
    let told = site.owner.client.post(path, &json!({"url": url})).send().await.expect(200).json();
    assert_eq!(told, json!({"status": 403, "ok": false}));
}

#[tokio::test]
async fn date_hash_and_token_are_those_of_the_signer_whatever_the_agent_says() {
    let site = site("execute-api").await;
    let mut call = site.agent.forward("aws", "POST", &site.upstream.url("/prod/items"));
    for (name, value) in [
        ("x-amz-date", "19700101T000000Z"),
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
        ("x-amz-security-token", "mine"),
        ("authorization", "AWS4-HMAC-SHA256 Credential=mine"),
    ] {
        call = call.header(name, value);
    }
    call.header("content-type", "application/json").body("{\"x\":1}").send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    assert_eq!(request.header("x-amz-security-token"), Some("sess"));
    assert!(!request.header("x-amz-date").unwrap().starts_with("1970"));
}

#[tokio::test]
async fn every_header_that_no_hop_changes_is_signed() {
    for service in ["execute-api", "s3"] {
        let site = site(service).await;
        let names = [
            "cache-control",
            "content-disposition",
            "content-encoding",
            "content-language",
            "content-md5",
            "content-type",
            "expires",
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-unmodified-since",
            "x-amz-acl",
            "x-custom",
        ];
        let mut call = site.agent.forward("aws", "PUT", &site.upstream.url("/bucket/key")).body("x");
        for name in names {
            call = call.header(name, "a   b\"c\"");
        }
        call.header("user-agent", "agent").send().await.forwarded(200);
        let request = site.upstream.received(1).await.remove(0);
        let authorization = request.header("authorization").unwrap();
        let (_, signed) = authorization.split_once("SignedHeaders=").unwrap();
        let signed: Vec<&str> = signed.split(',').next().unwrap().split(';').collect();
        for name in names {
            assert!(
                signed.contains(&name) && request.header(name).is_some(),
                "{service}: {name} of {signed:?}"
            );
        }
        assert!(!signed.contains(&"user-agent") && !signed.contains(&"accept-encoding"), "{signed:?}");
    }
}

#[tokio::test]
async fn a_signature_of_the_agents_own_in_the_query_does_not_leave() {
    let site = site("s3").await;
    let presigned = "/bucket?list-type=2&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=mine&x-amz-signature=ab\
                     &%58-Amz-Security-Token=mine&AWSAccessKeyId=mine&prefix=x%20y";
    let mut call = site.agent.forward("aws", "GET", &site.upstream.url(presigned));
    call = call.header("x_amz_security_token", "mine").header("x_amz_date", "19700101T000000Z");
    call.send().await.forwarded(200);
    site.agent
        .forward("aws", "GET", &site.upstream.url("/bucket?X-Amz-Expires=1"))
        .send()
        .await
        .forwarded(200);
    let requests = site.upstream.received(2).await;
    assert_eq!(requests[0].target, "/bucket?list-type=2&prefix=x%20y");
    assert_eq!(requests[1].target, "/bucket");
    assert!(!format!("{:?}", requests[0].headers).contains("mine"));
}
