//! Requests of agents, people's decisions about them, and sign-ins.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use super::Effect::{By, Rises};
use super::{causes, measured};
use crate::support::{PATIENCE, SECRET, Setup, Site};

async fn pass(site: &Site) {
    site.forward("GET", "/pass").send().await.forwarded(200);
}

async fn use_grant(site: &Site) {
    let txn = site.pause("/granted").await;
    site.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
    site.agent.outcome(&txn).await;
    site.forward("POST", "/granted").body("a body to approve").send().await.forwarded(200);
}

async fn refuse(site: &Site) {
    site.policy(&json!({"deny_methods": ["DELETE"]})).await;
    site.forward("DELETE", "/x").send().await.problem(403, "denied_by_policy");
}

async fn break_off(site: &Site) {
    site.upstream.reply(Reply::abort());
    let answer = site.forward("GET", "/broken").send().await;
    assert!(answer.status >= 500, "{answer:?}");
}

/// A POST whose upstream took it and never answered.
async fn lose_response(site: &Site) {
    let txn = site.pause("/lost").await;
    site.upstream.reply(Reply::abort());
    site.owner.approve(&txn).await;
    site.agent.outcome(&txn).await;
}

async fn echo(site: &Site) {
    site.upstream.reply(Reply::ok(format!("you sent {SECRET}")));
    site.forward("GET", "/echo").send().await.forwarded(200).hides(SECRET);
}

async fn exceed(site: &Site) {
    let body = json!({"name": "slow", "credentials": "all", "rate_limit_per_hour": 1});
    let made = site.owner.add_agent(&body).await;
    let agent = site.app.agent(made["key"].as_str().unwrap());
    let refused =
        async { while agent.forward("api", "GET", &site.upstream.url("/")).send().await.status != 429 {} };
    tokio::time::timeout(PATIENCE, refused).await.expect("a refusal");
}

async fn fail_to_fetch(site: &Site) {
    let tokens = Upstream::http().await;
    tokens.reply_with(|_| Reply::new(503));
    let auth = json!({"kind": "oauth2_refresh", "token_url": tokens.url("/token"), "client_auth": "body"});
    let secret = json!({"client_id": "me", "client_secret": "s", "refresh_token": "r0"});
    site.credential("account", &json!({"auth": auth, "secret": secret})).await;
    let answer = site.agent.forward("account", "GET", &site.upstream.url("/")).send().await;
    assert!(answer.status >= 500, "{answer:?}");
}

async fn propose(site: &Site) {
    let action =
        json!({"credential": "api", "method": "POST", "url": site.upstream.url("/task"), "max_uses": 1});
    let body = json!({"purpose": "Tidy", "actions": [action], "minutes": 10});
    let task = site.agent.client.post("/agent/tasks", &body).send().await.expect(202).json();
    let path = format!("/tasks/{}/deny", task["task_id"].as_str().unwrap());
    site.owner.client.post(&path, &json!({})).send().await.expect(200);
}

async fn sign_in_wrongly(site: &Site) {
    let body = json!({"email": "owner@example.org", "password": "not the password"});
    site.app.anonymous().post("/session", &body).send().await.expect(401);
}

async fn send_a_large_head(site: &Site) {
    let call = site.app.anonymous().get("/healthz").header("x-large", &"a".repeat(200_000));
    // The server may close before the client has sent everything.
    drop(call.attempt().await);
}

engines! {
    async fn requests_and_what_becomes_of_them_move_their_metrics(setup: Setup) {
        let site = Site::with(measured(setup)).await;
        let (site, app) = (&site, &site.app);
        let decided = |word: &str| format!("pyxis_forward_requests_total{{decision=\"{word}\"}}");
        let (passed, paused, refused) = (decided("pass"), decided("pause"), decided("refuse"));
        causes(app, async || pass(site).await, &[
            (&passed, By(1.0)),
            ("pyxis_upstream_seconds_count", By(1.0)),
            ("pyxis_http_request_seconds_count{route=\"/forward\"}", By(1.0)),
        ]).await;
        causes(app, async || use_grant(site).await, &[
            ("pyxis_grant_uses_total", By(1.0)), (&paused, By(1.0)), (&passed, Rises),
        ]).await;
        causes(app, async || echo(site).await, &[("pyxis_redactions_total", Rises)]).await;
        causes(app, async || break_off(site).await, &[("pyxis_upstream_failures_total", Rises)]).await;
        causes(app, async || lose_response(site).await, &[("pyxis_outcome_unknown_total", Rises)]).await;
        causes(app, async || exceed(site).await, &[("pyxis_rate_limited_total", Rises)]).await;
        causes(app, async || fail_to_fetch(site).await, &[("pyxis_token_fetch_failures_total", Rises)]).await;
        causes(app, async || propose(site).await, &[
            ("pyxis_tasks_total{outcome=\"proposed\"}", By(1.0)), ("pyxis_tasks_total{outcome=\"denied\"}", By(1.0)),
        ]).await;
        causes(app, async || sign_in_wrongly(site).await, &[("pyxis_sign_ins_failed_total", By(1.0))]).await;
        causes(app, async || send_a_large_head(site).await, &[("pyxis_http_heads_refused_total", Rises)]).await;
        causes(app, async || refuse(site).await, &[(&refused, By(1.0))]).await;
    }

    async fn requests_that_no_one_decides_are_counted(setup: Setup) {
        let site = Site::with(measured(setup).env("PX_APPROVAL_TIMEOUT_SECS", "1")).await;
        let wait = async || {
            let txn = site.pause("/late").await;
            assert_eq!(site.agent.outcome(&txn).await["status"], "expired");
        };
        causes(&site.app, wait, &[("pyxis_approvals_expired_total", By(1.0))]).await;
    }
}
