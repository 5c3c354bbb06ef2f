//! Agent, proxy, signer, upstream: `connector: sidecar` from end to end.

use pyxis_testkit::engines;
use serde_json::json;

use super::process::Signer;
use super::verifier;
use crate::support::{Setup, Site};

/// A site with the sidecar credential `my-app`, whose requests reach the verifying upstream.
async fn site(signer: &Signer, hosts: &[String]) -> Site {
    world_on(Setup::new(), signer, hosts).await
}

async fn world_on(setup: Setup, signer: &Signer, hosts: &[String]) -> Site {
    let site = Site::bare(setup).await;
    let fields = json!({
        "connector": "sidecar", "api_base": signer.url(), "allowed_hosts": hosts, "secret": "sesame",
    });
    site.credential("my-app", &fields).await;
    site
}

#[tokio::test]
async fn a_request_is_judged_by_its_real_target_and_arrives_signed() {
    let (signer, upstream) = (Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]), verifier::upstream().await);
    let site = site(&signer, &[upstream.addr().to_string()]).await;
    let policy = json!({"auto_approve_urls": ["/free"], "auto_approve_methods": ["GET"]});
    site.owner.set_policy("my-app", &policy).await;

    let call = site.agent.forward("my-app", "GET", &upstream.url("/x?b=2&a=1%20"));
    assert_eq!(call.send().await.forwarded(200).text(), "verified");
    let call = site.agent.forward("my-app", "POST", &upstream.url("/free/x"));
    let call = call.header("content-type", "application/x-www-form-urlencoded");
    call.body("status=a%20b").send().await.forwarded(200);

    let call = site.agent.forward("my-app", "POST", &upstream.url("/paid")).body("{}");
    let txn = call.send().await.txn();
    assert_eq!(upstream.requests().len(), 2);
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert_eq!(
        (&outcome["upstream_status"], &outcome["response"]["body"]),
        (&json!(200), &json!("verified"))
    );

    site.agent
        .forward("my-app", "GET", "https://elsewhere.example/")
        .send()
        .await
        .problem(403, "host_not_allowed");
    assert_eq!(upstream.requests().len(), 3);
}

#[tokio::test]
async fn an_agent_that_speaks_to_the_signer_itself_gains_nothing() {
    let (signer, upstream) = (Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]), verifier::upstream().await);
    let other = verifier::upstream().await;
    let site = site(&signer, &[upstream.addr().to_string()]).await;
    let call = site.agent.forward("my-app", "GET", &upstream.url("/mine"));
    let call = call.header("x-oauth-target", &other.url("/")).header("x-oauth-credential", "other");
    call.header("x_oauth_target", &other.url("/")).send().await.forwarded(200);
    let call = site.agent.forward("my-app", "GET", &upstream.url("/mine")).header("x-px-method", "DELETE");
    call.send().await.problem(400, "duplicate_header");
    assert_eq!(other.requests().len(), 0);
    let requests = upstream.received(1).await;
    assert_eq!((requests.len(), requests[0].method.as_str()), (1, "GET"));
    for name in ["x-oauth-target", "x-oauth-credential", "x_oauth_target", "x-px-method"] {
        assert_eq!(requests[0].header(name), None, "{name}");
    }
}

#[tokio::test]
async fn the_signers_token_reaches_neither_agent_nor_upstream() {
    let (signer, upstream) = (Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]), verifier::upstream().await);
    let site = site(&signer, &[upstream.addr().to_string()]).await;
    let call = site.agent.forward("my-app", "GET", &upstream.url("/")).header("authorization", "Bearer mine");
    let answer = call.send().await.forwarded(200);
    assert!(!format!("{answer:?}").contains("sesame"));
    let request = upstream.received(1).await.remove(0);
    assert!(!format!("{request:?}").contains("sesame") && !format!("{request:?}").contains("Bearer"));
}

#[tokio::test]
async fn a_failure_of_the_signer_is_one_of_the_proxy_and_never_looks_like_an_answer_of_the_api() {
    let signer = Signer::start(&[("OAUTH_SIGNER_TOKEN", "another")]);
    let upstream = verifier::upstream().await;
    let site = site(&signer, &[upstream.addr().to_string()]).await;
    site.owner.set_policy("my-app", &json!({"auto_approve_methods": ["GET"]})).await;
    let refused = site.agent.forward("my-app", "GET", &upstream.url("/")).send().await;
    refused.problem(502, "upstream_error");
    let txn = site.agent.forward("my-app", "POST", &upstream.url("/")).body("{}").send().await.txn();
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert_eq!((&outcome["error"], &outcome["upstream_status"]), (&json!("upstream_error"), &json!(null)));
    assert!(upstream.requests().is_empty());
}

engines! {
    async fn a_sidecar_serves_the_entrance_for_base_urls_and_the_probe(setup: Setup) {
        let (signer, upstream) = (Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]), verifier::upstream().await);
        let site = world_on(setup, &signer, &[upstream.addr().to_string()]).await;
        let bearer = format!("Bearer {}", site.agent.key);
        let call = site.app.anonymous().get("/p/my-app/2/users?b=2&a=1%20").header("authorization", &bearer);
        assert_eq!(call.send().await.forwarded(200).text(), "verified");
        let probe = json!({"url": upstream.url("/2/users/me")});
        let told = site.owner.client.post("/admin/credentials/my-app/verify", &probe).send().await.expect(200);
        assert_eq!(told.json(), json!({"status": 200, "ok": true}));
        let requests = upstream.received(2).await;
        let seen: Vec<_> = requests.iter().map(|request| request.target.as_str()).collect();
        assert_eq!(seen, ["/2/users?b=2&a=1%20", "/2/users/me"]);
        assert_eq!(requests[1].header("user-agent"), Some("pyxis"));
    }
}

#[tokio::test]
async fn what_the_sidecar_sent_and_lost_may_have_happened() {
    let signer = Signer::start(&[("OAUTH_SIGNER_TOKEN", "sesame")]);
    let upstream = pyxis_testkit::upstream::Upstream::http().await;
    let site = site(&signer, &[upstream.addr().to_string()]).await;
    upstream.reply(pyxis_testkit::upstream::Reply::abort());
    let txn = site.agent.forward("my-app", "POST", &upstream.url("/")).body("{}").send().await.txn();
    site.owner.approve(&txn).await;
    assert_eq!(site.agent.outcome(&txn).await["error"], "outcome_unknown");
    site.owner.set_policy("my-app", &json!({"auto_approve_methods": ["POST"]})).await;
    upstream.reply(pyxis_testkit::upstream::Reply::abort());
    let lost = site.agent.forward("my-app", "POST", &upstream.url("/")).body("{}").send().await;
    lost.problem(502, "outcome_unknown");
    assert_eq!(upstream.requests().len(), 2);
}

engines! {
    async fn a_token_that_there_is_not_is_left_out_or_empty_as_the_credential_says(setup: Setup) {
        let site = Site::bare(setup).await;
        let secret = json!({"consumer_key": "consumer-key", "consumer_secret": "consumer-secret"});
        for (name, auth, is_empty) in [
            ("usual", json!({"kind": "oauth1"}), false),
            ("omit", json!({"kind": "oauth1", "without_token": "omit"}), false),
            ("empty", json!({"kind": "oauth1", "without_token": "empty"}), true),
        ] {
            let made = site.credential(name, &json!({"auth": auth, "secret": secret})).await;
            assert_eq!(made["auth"]["without_token"] == json!("empty"), is_empty, "{made}");
            site.agent.forward(name, "GET", &site.upstream.url("/")).send().await.forwarded(200);
            let requests = site.upstream.requests();
            let header = requests.last().unwrap().header("authorization").unwrap();
            assert_eq!(header.contains("oauth_token=\"\""), is_empty, "{header}");
            assert_eq!(header.contains("oauth_token="), is_empty, "{header}");
        }
        let wrong = json!({"name": "wrong", "auth": {"kind": "oauth1", "without_token": "maybe"}, "secret": secret});
        let refused = site.owner.client.post("/admin/credentials", &wrong).send().await;
        assert!((400..=422).contains(&refused.status), "{}", refused.text());
    }
}

#[tokio::test]
async fn the_sidecar_leaves_a_missing_token_out_or_sends_it_empty() {
    let upstream = pyxis_testkit::upstream::Upstream::http().await;
    for (choice, is_empty) in [(None, false), (Some("omit"), false), (Some("empty"), true)] {
        let mut env = vec![
            ("OAUTH_CRED_MY_APP_CONSUMER_KEY", "consumer-key"),
            ("OAUTH_CRED_MY_APP_CONSUMER_SECRET", "consumer-secret"),
            ("OAUTH_CRED_MY_APP_ACCESS_TOKEN", ""),
            ("OAUTH_CRED_MY_APP_ACCESS_TOKEN_SECRET", ""),
            ("OAUTH_SIGNER_ALLOW_HTTP", "true"),
            ("PX_EGRESS_ALLOW", "127.0.0.0/8"),
        ];
        env.extend(choice.map(|choice| ("OAUTH_CRED_MY_APP_WITHOUT_TOKEN", choice)));
        let signer = Signer::start_with(&env);
        signer.to(&upstream, "GET", "/").send().await.expect(200);
        let requests = upstream.requests();
        let header = requests.last().unwrap().header("authorization").unwrap();
        assert_eq!(header.contains("oauth_token=\"\""), is_empty, "{choice:?}: {header}");
    }
}
