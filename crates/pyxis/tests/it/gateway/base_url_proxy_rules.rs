//! The entrance for tools that know only a base URL: the rules of `/forward` hold here too.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use serde_json::json;

use crate::support::client::Call;
use crate::support::{Agent, Setup, Site, in_one_hour, until};

fn by(agent: &Agent, site: &Site, method: &str, path: &str) -> Call {
    site.app.anonymous().call(method, path).header("authorization", &format!("Bearer {}", agent.key))
}

fn tool_call(site: &Site, method: &str, path: &str) -> Call {
    by(&site.agent, site, method, path)
}

async fn pending(site: &Site) -> String {
    until("a pending approval", async || {
        let list = site.owner.client.get("/approvals?state=pending").send().await.expect(200).json();
        list["approvals"][0]["txn_id"].as_str().map(str::to_owned)
    })
    .await
}

engines! {
    async fn nobody_decides_while_it_is_held_and_it_is_a_202_without_being_asked(setup: Setup) {
        let site = Site::with(setup.env("PX_ENTRANCE_WAIT_SECS", "1")).await;
        let answer = tool_call(&site, "POST", "/p/api/v1/x").body("{}").send().await;
        assert_eq!(answer.header("px-error"), None);
        let txn = answer.txn();
        assert_eq!(answer.header("px-txn"), Some(txn.as_str()));
        // It continues like any other request.
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["response"]["body"], "ok");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_denial_while_it_is_held_is_a_403_of_the_proxy(setup: Setup) {
        let site = Site::with(setup.env("PX_ENTRANCE_WAIT_SECS", "30")).await;
        let waiting = tokio::spawn(tool_call(&site, "POST", "/p/api/v1/x").body("{}").send());
        site.owner.deny(&pending(&site).await, "not today").await;
        assert_eq!(waiting.await.unwrap().problem(403, "approval_denied")["reason"], "not today");
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn the_hourly_budget_is_the_one_of_forward(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = Site::with(setup).await;
            let made = site.owner.add_agent(&json!({"name": "two", "credentials": "all", "rate_limit_per_hour": 2})).await;
            let agent = site.app.agent(made["key"].as_str().unwrap());
            by(&agent, &site, "GET", "/p/api/x").send().await.forwarded(200);
            by(&agent, &site, "GET", "/p/nothing/x").send().await.problem(404, "credential_not_found");
            by(&agent, &site, "GET", "/p/api/x").send().await.problem(429, "rate_limited");
            agent.forward("api", "GET", &site.upstream.url("/")).send().await.problem(429, "rate_limited");
            assert_eq!(site.upstream.requests().len(), 1);
        })
        .await;
    }

    async fn a_grant_spares_the_question(setup: Setup) {
        let site = Site::with(setup.env("PX_ENTRANCE_WAIT_SECS", "0")).await;
        let txn = tool_call(&site, "POST", "/p/api/v1/x").body("one").send().await.txn();
        site.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
        site.agent.outcome(&txn).await;
        tool_call(&site, "POST", "/p/api/v1/x").body("two").send().await.forwarded(200);
        tool_call(&site, "POST", "/p/api/v1/y").body("two").send().await.txn();
        let last = site.forwards().await.into_iter().rev().find(|record| record["decision"] == "grant");
        assert!(last.is_some_and(|record| record["grant_id"].is_string()), "the use is on record");
    }

    async fn an_idempotency_key_stands_for_one_request(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"auto_approve_methods": ["POST"]})).await;
        let keyed = |body: &'static str| tool_call(&site, "POST", "/p/api/x").header("idempotency-key", "k").body(body).send();
        site.upstream.reply(Reply::new(201).body("made"));
        for _ in 0..2 {
            assert_eq!(keyed("one").await.forwarded(201).text(), "made");
        }
        keyed("two").await.problem(422, "idempotency_key_reused");
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_post_is_answered_by_a_stream_of_events(setup: Setup) {
        let site = Site::with(setup).await;
        site.policy(&json!({"auto_approve_methods": ["POST"]})).await;
        let (reply, chunks) = Reply::streaming();
        site.upstream.reply(reply.header("content-type", "text/event-stream"));
        let call = tool_call(&site, "POST", "/p/api/v1/chat/completions").header("content-type", "application/json");
        let mut opened = call.body("{\"stream\":true}").open().await;
        assert_eq!((opened.status, opened.headers["content-type"].as_bytes()), (200, b"text/event-stream".as_slice()));
        for text in ["data: 1\n\n", "data: 2\n\n"] {
            chunks.send(text);
            assert_eq!(opened.chunk().await.unwrap(), text);
        }
    }

    async fn a_kind_that_fetches_a_token_serves_it_too(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        tokens.reply(Reply::json("{\"access_token\":\"t0k-canary\",\"expires_in\":3600}"));
        let auth = json!({"kind": "oauth2_client_credentials", "token_url": tokens.url("/t")});
        site.credential("api", &json!({"auth": auth, "secret": {"client_id": "me", "client_secret": "s"}})).await;
        let answer = tool_call(&site, "GET", "/p/api/v1/x").send().await.forwarded(200);
        answer.hides("canary");
        let request = site.upstream.received(1).await.remove(0);
        assert_eq!(request.header("authorization"), Some("Bearer t0k-canary"));
    }
}
