//! Kinds that sign each request or fetch a token for it (`docs/reference/credentials.md#kinds`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::signer::verifier;
use crate::support::{Setup, Site};

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

const FORM: &str = "application/x-www-form-urlencoded";

/// The probe of a credential gets a 2xx.
pub(super) async fn verified(site: &Site, name: &str, url: &str) {
    let path = format!("/admin/credentials/{name}/verify");
    let told = site.owner.client.post(&path, &json!({"url": url})).send().await.expect(200).json();
    assert_eq!(told, json!({"status": 200, "ok": true}), "{name}");
}

/// Everything passes without a question.
pub(super) async fn free(site: &Site, name: &str) {
    let policy = json!({"auto_approve_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"]});
    site.owner.set_policy(name, &policy).await;
}

#[tokio::test]
async fn oauth1_signs_here_as_the_sidecar_does() {
    let site = verifier::site().await;
    free(&site, "x").await;
    let url = |path: &str| site.upstream.url(path);
    let answer = site.agent.forward("x", "GET", &url("/a?b=%20c&b=+d")).send().await.forwarded(200);
    assert_eq!(answer.text(), "verified");
    let call = site
        .agent
        .forward("x", "POST", &url("/u"))
        .header("content-type", "application/x-www-form-urlencoded");
    call.body("status=a%20b&c").send().await.forwarded(200);
    let call = site.agent.forward("x", "PUT", &url("/j")).header("content-type", "application/json");
    call.body("{\"a\":1}").send().await.forwarded(200);
    verified(&site, "x", &url("/2/users/me")).await;
}

/// Requests that the sidecar refuses are refused by this kind too.
#[tokio::test]
async fn oauth1_refuses_what_it_cannot_sign_as_the_host_reads_it() {
    let site = Site::bare(Setup::new()).await;
    let secret = json!({"consumer_key": "k", "consumer_secret": "s"});
    site.credential("x", &json!({"auth": {"kind": "oauth1"}, "secret": secret})).await;
    free(&site, "x").await;
    let post = |path: &str| site.agent.forward("x", "POST", &site.upstream.url(path));
    let form = || post("/").header("content-type", FORM);
    form().header("content-encoding", "gzip").body("a=b").send().await.problem(400, "encoded_form");
    let twice = form().header("content-encoding", "identity").header("content-encoding", "gzip");
    twice.body("a=b").send().await.problem(400, "encoded_form");
    form().header("content-type", "text/plain").body("a=b").send().await.problem(400, "duplicate_header");
    let text = post("/").header("content-type", "text/plain");
    text.header("content-type", FORM).body("a=b").send().await.problem(400, "duplicate_header");
    let odd = post("/").header_bytes("content-type", b"application/x-www-form-urlencoded; x=\xff");
    odd.body("a=b").send().await.problem(400, "invalid_header");
    form().body("oauth_nonce=1").send().await.problem(400, "oauth_parameter");
    post("/?oauth_token=1").send().await.problem(400, "oauth_parameter");
    assert_eq!(site.upstream.requests().len(), 0);
    form().header("content-encoding", "identity").body("a=b").send().await.forwarded(200);
    let zipped = post("/").header("content-type", "text/plain").header("content-encoding", "gzip");
    zipped.body("not a form").send().await.forwarded(200);
}

/// Every part of a secret except the client's name, and everything next to the key in a key file.
#[tokio::test]
async fn no_part_of_a_secret_comes_back_but_what_only_names_the_client() {
    let site = Site::bare(Setup::new()).await;
    let (tokens, _) = token_server(|_, _| granted("t0k-canary", &json!({}))).await;
    let hmac = json!({"kind": "hmac", "content": "{body}", "headers": [
        {"name": "X-Sign", "format": "{signature}"}, {"name": "Authorization", "format": "Bearer {secret.token}"},
    ]});
    let client = json!({"kind": "oauth2_client_credentials", "token_url": tokens.url("/t")});
    let account = json!({"kind": "oauth2_refresh", "token_url": tokens.url("/t")});
    let assertion =
        json!({"kind": "jwt_bearer", "token_url": tokens.url("/t"), "issuer": "i", "algorithm": "EdDSA"});
    let aws = json!({"kind": "aws_sigv4", "region": "r", "service": "s"});
    for (number, (auth, secret)) in [
        (hmac, json!({"key": "key-canary", "token": "token-canary", "client_id": "id-canary"})),
        (json!({"kind": "oauth1"}), json!({
            "consumer_key": "ck-shown", "consumer_secret": "cs-canary", "token": "at-canary", "token_secret": "ts-canary",
        })),
        (aws, json!({"access_key_id": "AKID-shown", "secret_access_key": "sk-canary", "session_token": "st-canary"})),
        (client, json!({"client_id": "id-shown", "client_secret": "cs-canary", "extra": "t0k-canary"})),
        (account, json!({"client_id": "id-shown", "client_secret": "cs-canary", "refresh_token": "rt-canary"})),
        (assertion, json!({"type": "service_account-shown", "project_id": "project-shown", "private_key": KEY})),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("c{number}");
        site.credential(&name, &json!({"auth": auth, "secret": secret})).await;
        let words: Vec<String> = secret.as_object().unwrap().values().map(|value| value.as_str().unwrap().to_owned()).collect();
        let said = words.join(" | ");
        site.upstream.reply_with(move |request| {
            Reply::ok(said.clone()).header("x-echo", request.header("authorization").unwrap_or_default())
        });
        let answer = site.agent.forward(&name, "GET", &site.upstream.url("/")).send().await.forwarded(200);
        let text = answer.text();
        answer.hides("canary");
        assert!(!text.contains("PRIVATE KEY"), "{auth}: {text}");
        for word in words.iter().filter(|word| word.ends_with("-shown")) {
            assert!(text.contains(word), "{auth}: {text}");
        }
    }
}

#[tokio::test]
async fn hmac_signs_what_its_template_says() {
    let site = Site::bare(Setup::new()).await;
    let fields = json!({
        "auth": {
            "kind": "hmac", "content": "{timestamp}{method}{target}{body}", "key_encoding": "base64",
            "signature_encoding": "base64",
            "headers": [
                {"name": "X-Sign", "format": "{signature}"}, {"name": "X-Time", "format": "{timestamp}"},
                {"name": "X-Key", "format": "{secret.id}"},
            ],
        },
        "secret": {"key": STANDARD.encode("k3y"), "id": "me"},
    });
    site.credential("exchange", &fields).await;
    free(&site, "exchange").await;
    let call = site.agent.forward("exchange", "POST", &site.upstream.url("/v1/orders?a=1"));
    call.header("x-sign", "mine").body("{}").send().await.forwarded(200);
    let request = site.upstream.received(1).await.remove(0);
    let content = format!("{}POST/v1/orders?a=1{{}}", request.header("x-time").unwrap());
    assert_eq!(request.header("x-sign"), Some(STANDARD.encode(hmac(b"k3y", content.as_bytes())).as_str()));
    assert_eq!(request.header("x-key"), Some("me"));
    verified(&site, "exchange", &site.upstream.url("/v1/me")).await;
    let probe = site.upstream.received(2).await.remove(1);
    let content = format!("{}GET/v1/me", probe.header("x-time").unwrap());
    assert_eq!(probe.header("x-sign"), Some(STANDARD.encode(hmac(b"k3y", content.as_bytes())).as_str()));
    assert_eq!(probe.header("user-agent"), Some("pyxis"));
}

/// A token endpoint that counts, and an API that reports the token it received.
async fn token_server(
    answer: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
) -> (Upstream, Arc<AtomicUsize>) {
    let (upstream, count) = (Upstream::http().await, Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    upstream.reply_with(move |request| answer(counted.fetch_add(1, Ordering::SeqCst) + 1, request.text()));
    (upstream, count)
}

fn granted(token: &str, more: &Value) -> Reply {
    let mut body = json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    Reply::json(&body.to_string())
}

engines! {
    /// Many requests at once.
    async fn many_requests_fetch_one_token_and_it_never_reaches_the_agent(setup: Setup) {
        let site = Site::bare(setup).await;
        let (tokens, count) = token_server(|n, _| granted(&format!("t0ken-canary-{n}"), &json!({}))).await;
        let fields = json!({
            "auth": {"kind": "oauth2_client_credentials", "token_url": tokens.url("/token"), "scope": "read write"},
            "secret": {"client_id": "me.app", "client_secret": "s&cret canary"},
        });
        site.credential("api", &fields).await;
        site.upstream.reply_with(|request| Reply::ok(format!("got {}", request.header("authorization").unwrap_or_default())));
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..12 {
            calls.spawn(site.forward("GET", "/").send());
        }
        while let Some(answer) = calls.join_next().await {
            let answer = answer.unwrap().forwarded(200);
            assert_eq!(answer.text(), "got Bearer [REDACTED:api]");
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let asked = tokens.received(1).await.remove(0);
        assert_eq!(asked.text(), "grant_type=client_credentials&scope=read%20write");
        let expected = format!("Basic {}", STANDARD.encode("me.app:s%26cret%20canary"));
        assert_eq!(asked.header("authorization"), Some(expected.as_str()));
        let seen = site.upstream.received(12).await;
        assert!(seen.iter().all(|request| request.header("authorization") == Some("Bearer t0ken-canary-1")));
        assert!(!site.app.logs().contains("t0ken-canary"));
    }

    /// Also by another node and after a restart.
    async fn a_rotated_refresh_token_is_stored_before_it_is_used(setup: Setup) {
        let mut site = Site::bare(setup).await;
        let (tokens, count) = token_server(|n, form| {
            let expected = format!("refresh_token=r{}", n - 1);
            if !form.contains(&expected) {
                return Reply::new(400).header("content-type", "application/json").body("{\"error\":\"invalid_grant\"}");
            }
            // Expires immediately, so that every request needs a new one.
            granted(&format!("a{n}"), &json!({"refresh_token": format!("r{n}"), "expires_in": "1"}))
        })
        .await;
        let fields = json!({
            "auth": {"kind": "oauth2_refresh", "token_url": tokens.url("/token"), "client_auth": "body"},
            "secret": {"client_id": "me", "client_secret": "s", "refresh_token": "r0"},
        });
        site.credential("api", &fields).await;
        site.forward("GET", "/").send().await.forwarded(200);
        site.forward("GET", "/").send().await.forwarded(200);
        site.app.restart().await;
        verified(&site, "api", &site.upstream.url("/")).await;
        assert_eq!(count.load(Ordering::SeqCst), 3);
        let used: Vec<_> = site.upstream.received(3).await.iter()
            .map(|request| request.header("authorization").unwrap().to_owned()).collect();
        assert_eq!(used, ["Bearer a1", "Bearer a2", "Bearer a3"]);
        // Another client used up the refresh token: a person must connect the account again.
        tokens.reply(Reply::new(400).header("content-type", "application/json").body("{\"error\":\"invalid_grant\"}"));
        for _ in 0..2 {
            let problem = site.forward("GET", "/").send().await.problem(502, "reauthorization_required");
            assert!(problem["url"].as_str().unwrap().ends_with("/app/credentials/api"), "{problem}");
        }
        assert_eq!(count.load(Ordering::SeqCst), 3);
        assert_eq!(tokens.requests().len(), 4);
        // A new secret starts over.
        let secret = json!({"secret": {"client_id": "me", "refresh_token": "r3"}});
        site.owner.client.put("/admin/credentials/api/secret", &secret).send().await.expect(200);
        site.forward("GET", "/").send().await.forwarded(200);
    }
}

#[tokio::test]
async fn a_token_endpoint_that_refuses_or_is_private_is_told_without_its_words() {
    let site = Site::bare(Setup::new()).await;
    let (tokens, _) = token_server(|_, _| {
        Reply::new(401).body("{\"error\":\"invalid_client\",\"error_description\":\"canary\"}")
    })
    .await;
    let auth = |url: &str| json!({"kind": "oauth2_client_credentials", "token_url": url});
    let secret = json!({"client_id": "me", "client_secret": "s"});
    site.credential("api", &json!({"auth": auth(&tokens.url("/token")), "secret": secret})).await;
    let problem = site.forward("GET", "/").send().await.problem(502, "token_error");
    assert!(
        problem["detail"].as_str().unwrap().contains("invalid_client")
            && !problem.to_string().contains("canary")
    );
    site.credential("metadata", &json!({"auth": auth("https://169.254.169.254/token"), "secret": secret}))
        .await;
    let call = site.agent.forward("metadata", "GET", &site.upstream.url("/"));
    call.send().await.problem(403, "target_not_allowed");
    let plain = json!({"name": "plain", "auth": auth("http://tokens.example.com/"), "secret": secret});
    let answer = site.owner.client.post("/admin/credentials", &plain).send().await;
    assert_eq!(answer.problem(422, "invalid_field")["field"], "auth.token_url");
    assert_eq!(site.upstream.requests().len(), 0);
}

const KEY: &str = include_str!("../../../../pyxis-signing/data/ed25519.pem");
const P256: &str = include_str!("../../../../pyxis-signing/data/p256.pem");
const RSA: &str = include_str!("../../../../pyxis-signing/data/rsa.pem");

fn claims(jwt: &str) -> Value {
    part(jwt, 1)
}

fn part(jwt: &str, number: usize) -> Value {
    let part = jwt.split('.').nth(number).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// The assertion in a form.
fn assertion(form: &str) -> &str {
    form.split('&').find_map(|pair| pair.strip_prefix("assertion=")).unwrap()
}

/// True if a library that is not the signing one accepts a token for the key in `pem`. ring signs only with RSA, so it
/// verifies the others.
fn holds(algorithm: &str, pem: &str, jwt: &str) -> bool {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey,
    };
    use rsa::pkcs8::DecodePrivateKey as _;
    use rsa::signature::Verifier as _;
    let (signed, signature) = jwt.rsplit_once('.').unwrap();
    let (signed, signature) = (signed.as_bytes(), URL_SAFE_NO_PAD.decode(signature).unwrap());
    let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD.decode(base64).unwrap();
    match algorithm {
        "EdDSA" => {
            let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).unwrap();
            UnparsedPublicKey::new(&ED25519, key.public_key()).verify(signed, &signature).is_ok()
        }
        "ES256" => {
            // It ends with the point (RFC 5915, section 3).
            let point = &der[der.len() - 65..];
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, &signature).is_ok()
        }
        _ => {
            let key = rsa::RsaPrivateKey::from_pkcs8_der(&der).unwrap().to_public_key();
            let key = rsa::pkcs1v15::VerifyingKey::<rsa::sha2::Sha256>::new(key);
            let signature = rsa::pkcs1v15::Signature::try_from(signature.as_slice()).unwrap();
            key.verify(signed, &signature).is_ok()
        }
    }
}

/// Checks the signature, and that it fits no other text.
fn assert_signed(algorithm: &str, pem: &str, jwt: &str) {
    assert_eq!(part(jwt, 0)["alg"], algorithm);
    assert!(holds(algorithm, pem, jwt), "{jwt}");
    assert!(!holds(algorithm, pem, &format!("x{jwt}")), "{jwt}");
}

#[tokio::test]
async fn a_signed_assertion_is_exchanged_for_a_token() {
    let site = Site::bare(Setup::new()).await;
    let (tokens, _) = token_server(|_, _| granted("t0k", &json!({}))).await;
    let url = tokens.url("/token");
    let auth = json!({"kind": "jwt_bearer", "token_url": url, "issuer": "https://example.com/me", "scope": "all", "algorithm": "EdDSA"});
    site.credential("api", &json!({"auth": auth, "secret": KEY})).await;
    site.forward("GET", "/").send().await.forwarded(200);
    let form = tokens.received(1).await.remove(0).text().to_owned();
    assert!(
        form.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey"),
        "{form}"
    );
    let claims = claims(assertion(&form));
    assert_eq!(
        (&claims["iss"], &claims["sub"]),
        (&json!("https://example.com/me"), &json!("https://example.com/me"))
    );
    assert_eq!((&claims["aud"], &claims["scope"]), (&json!(url), &json!("all")));
    let (made, ends) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    assert!(made > 1_700_000_000 && ends - made == 300, "{claims}");
    assert!(claims["jti"].as_str().is_some_and(|id| id.len() >= 16), "{claims}");
    verified(&site, "api", &site.upstream.url("/")).await;
    for request in site.upstream.received(2).await {
        assert_eq!(request.header("authorization"), Some("Bearer t0k"));
    }
}

#[tokio::test]
async fn an_assertion_of_each_algorithm_holds_for_a_library_that_did_not_sign_it() {
    let site = Site::bare(Setup::new()).await;
    let (tokens, _) = token_server(|_, _| granted("t0k", &json!({}))).await;
    let keys = [("EdDSA", KEY), ("ES256", P256), ("RS256", RSA)];
    for (number, (algorithm, pem)) in keys.into_iter().enumerate() {
        let name = format!("c{number}");
        let auth = json!({
            "kind": "jwt_bearer", "token_url": tokens.url("/token"), "issuer": "me", "algorithm": algorithm,
        });
        site.credential(&name, &json!({"auth": auth, "secret": pem})).await;
        site.agent.forward(&name, "GET", &site.upstream.url("/")).send().await.forwarded(200);
        let form = tokens.received(number + 1).await.remove(number).text().to_owned();
        assert_signed(algorithm, pem, assertion(&form));
    }
}

#[tokio::test]
async fn a_github_app_gets_an_installation_token() {
    let site = Site::bare(Setup::new()).await;
    let end = "2099-01-01T00:00:00Z";
    let (tokens, _) = token_server(move |_, _| {
        Reply::new(201)
            .header("content-type", "application/json")
            .body(json!({"token": "ghs_1", "expires_at": end}).to_string())
    })
    .await;
    let auth =
        json!({"kind": "github_app", "app_id": "12", "installation_id": "34", "api_url": tokens.url("")});
    site.credential("api", &json!({"auth": auth, "secret": RSA})).await;
    site.forward("GET", "/").send().await.forwarded(200);
    let asked = tokens.received(1).await.remove(0);
    assert_eq!(
        (asked.method.as_str(), asked.target.as_str()),
        ("POST", "/app/installations/34/access_tokens")
    );
    let jwt = asked.header("authorization").unwrap().strip_prefix("Bearer ").unwrap();
    let claims = claims(jwt);
    assert_eq!(claims["iss"], "12");
    // From a minute ago to five minutes from now.
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 360);
    assert_signed("RS256", RSA, jwt);
    verified(&site, "api", &site.upstream.url("/")).await;
    for request in site.upstream.received(2).await {
        assert_eq!(request.header("authorization"), Some("Bearer ghs_1"));
    }
}

#[tokio::test]
async fn a_kind_without_what_it_needs_is_refused_when_it_is_written() {
    let site = Site::bare(Setup::new()).await;
    for (auth, secret, field) in [
        (json!({"kind": "oauth1"}), json!({"consumer_key": "k"}), "secret.consumer_secret"),
        (json!({"kind": "aws_sigv4", "region": "", "service": "s3"}), json!({"a": "b"}), "auth.region"),
        (
            json!({"kind": "aws_sigv4", "region": "r", "service": "s3"}),
            json!({"access_key_id": "b"}),
            "secret.secret_access_key",
        ),
        (json!({"kind": "hmac", "content": "{body}", "headers": []}), json!("k"), "auth.headers"),
        (
            json!({"kind": "hmac", "content": "{nobody}", "headers": [{"name": "x", "format": "{signature}"}]}),
            json!("k"),
            "auth",
        ),
        (json!({"kind": "github_app", "app_id": "1", "installation_id": "2"}), json!("no key"), "secret"),
        (
            json!({"kind": "jwt_bearer", "token_url": "https://a.example/", "issuer": "i"}),
            json!("no key"),
            "secret",
        ),
        (json!({"kind": "mtls"}), json!({"certificate": "x"}), "secret.private_key"),
        (
            json!({"kind": "oauth2_refresh", "token_url": "https://a.example/"}),
            json!("text"),
            "secret.client_id",
        ),
    ] {
        let body = json!({"name": "c", "auth": auth, "secret": secret});
        let answer = site.owner.client.post("/admin/credentials", &body).send().await;
        assert_eq!(answer.problem(422, "invalid_field")["field"], field, "{body}");
    }
}
