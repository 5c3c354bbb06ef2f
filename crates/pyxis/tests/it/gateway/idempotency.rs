//! Never a second upstream call (`docs/reference/behavior/proxy.md#safe-repetition`).

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::client::Call;
use crate::support::{Setup, Site, in_one_hour};

fn keyed(site: &Site, method: &str, path: &str, key: &str) -> Call {
    site.forward(method, path).header("idempotency-key", key)
}

engines! {
    async fn the_same_request_gets_the_stored_outcome(setup: Setup) {
        let site = Site::with(setup).await;
        site.upstream.reply(Reply::new(201).header("etag", "\"e\"").body("made"));
        for _ in 0..3 {
            let answer = keyed(&site, "GET", "/x", "k1").send().await.forwarded(201);
            assert_eq!((answer.text().as_str(), answer.header("etag")), ("made", Some("\"e\"")));
        }
        assert_eq!(site.upstream.requests().len(), 1);
        keyed(&site, "GET", "/x", "k2").send().await.forwarded(200);
        assert_eq!(site.upstream.requests().len(), 2);
    }

    async fn another_request_under_the_same_key_is_refused(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"auto_approve_methods": ["GET", "POST"]})).await;
        site.credential("second", &json!({"auth": {"kind": "bearer"}, "secret": "other-canary"})).await;
        keyed(&site, "POST", "/x", "k").body("one").send().await.forwarded(200);
        let others = [
            keyed(&site, "POST", "/x", "k").body("two"),
            keyed(&site, "POST", "/y", "k").body("one"),
            keyed(&site, "GET", "/x", "k"),
            keyed(&site, "POST", "/x", "k").set("x-px-credential", "second").body("one"),
        ];
        for other in others {
            other.send().await.problem(422, "idempotency_key_reused");
        }
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_paused_request_keeps_its_transaction_and_later_its_outcome(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = keyed(&site, "POST", "/x", "k").body("b").send().await.txn();
        assert_eq!(keyed(&site, "POST", "/x", "k").body("b").send().await.txn(), txn);
        site.owner.approve(&txn).await;
        site.agent.outcome(&txn).await;
        let again = keyed(&site, "POST", "/x", "k").body("b").send().await;
        assert!([200, 202].contains(&again.status), "{again:?}");
        if again.status == 200 {
            assert_eq!(again.text(), "ok");
        } else {
            assert_eq!(again.txn(), txn);
        }
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn while_the_first_is_under_way_a_second_is_a_conflict(setup: Setup) {
        let site = Site::with(setup).await;
        let (reply, release) = Reply::ok("slow").hold();
        site.upstream.reply(reply);
        let first = tokio::spawn(keyed(&site, "GET", "/x", "k").send());
        site.upstream.received(1).await;
        keyed(&site, "GET", "/x", "k").send().await.problem(409, "idempotency_in_progress");
        release.send();
        assert_eq!(first.await.unwrap().forwarded(200).text(), "slow");
        assert_eq!(keyed(&site, "GET", "/x", "k").send().await.forwarded(200).text(), "slow");
        assert_eq!(site.upstream.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_agent_that_hung_up_finds_the_outcome_when_it_asks_again() {
    let site = Site::new().await;
    let (reply, release) = Reply::ok("slow").hold();
    site.upstream.reply(reply);
    let first = tokio::spawn(keyed(&site, "GET", "/x", "k").send());
    site.upstream.received(1).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    release.send();
    let answer = crate::support::until("the outcome", async || {
        let answer = keyed(&site, "GET", "/x", "k").send().await;
        (answer.status != 409).then_some(answer)
    })
    .await;
    assert_eq!(answer.forwarded(200).text(), "slow");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_too_large_to_keep_still_reaches_the_agent_once() {
    let site = Site::new_with_env("PX_RESPONSE_MAX_BYTES", "1000").await;
    let body = "0123456789".repeat(500);
    site.upstream.reply(Reply::ok(body.clone()));
    assert_eq!(keyed(&site, "GET", "/x", "k").send().await.forwarded(200).text(), body);
    let again = keyed(&site, "GET", "/x", "k").send().await.problem(502, "upstream_error");
    assert!(again["detail"].as_str().unwrap().contains("too large to store"), "{again}");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn an_answer_that_cannot_be_kept_reaches_the_agent_and_is_not_asked_for_again() {
    let site = Site::new().await;
    let (reply, release) = Reply::ok("slow").hold();
    site.upstream.reply(reply);
    let first = tokio::spawn(keyed(&site, "GET", "/x", "k").send());
    site.upstream.received(1).await;
    site.app.sql("ALTER TABLE idempotency RENAME TO idempotency_away");
    release.send();
    assert_eq!(first.await.unwrap().forwarded(200).text(), "slow");
    site.app.sql("ALTER TABLE idempotency_away RENAME TO idempotency");
    let again = crate::support::until("the key's end", async || {
        let answer = keyed(&site, "GET", "/x", "k").send().await;
        (answer.status != 409).then_some(answer)
    });
    again.await.problem(502, "outcome_unknown");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn the_agent_key_is_looked_at_before_the_body() {
    let site = Site::new_with_env("PX_PENDING_BODY_MAX_BYTES", "1000").await;
    let stranger = site.app.agent("px_agent_nobody");
    let call = stranger.forward("api", "POST", &site.upstream.url("/x"));
    let (call, _never_ends) = call.header("idempotency-key", "k").upload();
    call.send().await.problem(401, "invalid_key");
}

#[tokio::test]
async fn a_body_too_large_for_a_key_counts_against_the_limit() {
    in_one_hour(Setup::new().env("PX_PENDING_BODY_MAX_BYTES", "1000"), async |setup| {
        let site = Site::with(setup).await;
        let fields = json!({"name": "two", "credentials": "all", "rate_limit_per_hour": 2});
        let agent = site.owner.add_agent(&fields).await;
        let agent = site.app.agent(agent["key"].as_str().unwrap());
        let ask = || {
            let call = agent.forward("api", "POST", &site.upstream.url("/x"));
            call.header("idempotency-key", "k").body("x".repeat(1001)).send()
        };
        ask().await.problem(413, "body_too_large");
        ask().await.problem(413, "body_too_large");
        ask().await.problem(429, "rate_limited");
    })
    .await;
}

#[tokio::test]
async fn another_spelling_of_a_request_is_the_same_request() {
    let site = Site::new().await;
    keyed(&site, "GET", "/x", "k").send().await.forwarded(200);
    keyed(&site, "get", "/x", "k").send().await.forwarded(200);
    keyed(&site, "GET", "/x", "k").without("x-px-method").send().await.forwarded(200);
    keyed(&site, "GET", "/x#part", "k").set("x-px-credential", "API").send().await.forwarded(200);
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn another_request_under_a_key_counts_against_the_limit() {
    in_one_hour(Setup::new(), async |setup| {
        let site = Site::with(setup).await;
        let fields = json!({"name": "two", "credentials": "all", "rate_limit_per_hour": 2});
        let agent = site.owner.add_agent(&fields).await;
        let agent = site.app.agent(agent["key"].as_str().unwrap());
        let ask = |path: &str| {
            agent.forward("api", "GET", &site.upstream.url(path)).header("idempotency-key", "k").send()
        };
        ask("/x").await.forwarded(200);
        ask("/y").await.problem(422, "idempotency_key_reused");
        ask("/y").await.problem(429, "rate_limited");
        ask("/x").await.forwarded(200);
    })
    .await;
}

#[tokio::test]
async fn a_refused_request_gives_the_key_back() {
    let site = Site::new().await;
    site.policy(&json!({"deny_methods": ["GET"]})).await;
    keyed(&site, "GET", "/x", "k").send().await.problem(403, "denied_by_policy");
    site.policy(&json!({"auto_approve_methods": ["GET"]})).await;
    keyed(&site, "GET", "/x", "k").send().await.forwarded(200);
}

#[tokio::test]
async fn keys_of_two_agents_are_two_keys() {
    let site = Site::new().await;
    let second = site.owner.add_agent(&json!({"name": "second", "credentials": "all"})).await;
    let second = site.app.agent(second["key"].as_str().unwrap());
    keyed(&site, "GET", "/x", "k").send().await.forwarded(200);
    let call = second.forward("api", "GET", &site.upstream.url("/y")).header("idempotency-key", "k");
    call.send().await.forwarded(200);
    assert_eq!(site.upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_stored_outcome_survives_a_restart() {
    let mut site = Site::new().await;
    site.upstream.reply(Reply::ok("first"));
    keyed(&site, "GET", "/x", "k").send().await.forwarded(200);
    site.app.restart().await;
    assert_eq!(keyed(&site, "GET", "/x", "k").send().await.forwarded(200).text(), "first");
    assert_eq!(site.upstream.requests().len(), 1);
}

#[tokio::test]
async fn replays_do_not_count_against_the_limit() {
    in_one_hour(Setup::new(), async |setup| {
        let site = Site::with(setup).await;
        let agent = site
            .owner
            .add_agent(&json!({"name": "two", "credentials": "all", "rate_limit_per_hour": 2}))
            .await;
        let agent = site.app.agent(agent["key"].as_str().unwrap());
        let url = site.upstream.url("/x");
        for _ in 0..5 {
            agent.forward("api", "GET", &url).header("idempotency-key", "k").send().await.forwarded(200);
        }
        agent.forward("api", "GET", &url).send().await.forwarded(200);
        agent.forward("api", "GET", &url).send().await.problem(429, "rate_limited");
    })
    .await;
}
