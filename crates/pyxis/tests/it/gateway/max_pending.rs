//! The number of requests of one agent that wait for a person at once
//! (`docs/reference/behavior/proxy.md#pending-limit`).

use std::collections::HashSet;

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Agent, HttpResponse, Setup, Site};

async fn limited(site: &Site, name: &str, limit: u32) -> Agent {
    let body = json!({"name": name, "credentials": "all", "max_pending": limit});
    let agent = site.owner.add_agent(&body).await;
    assert_eq!(agent["max_pending"], limit);
    site.app.agent(agent["key"].as_str().unwrap())
}

async fn post(site: &Site, agent: &Agent, path: &str) -> HttpResponse {
    agent.forward("api", "POST", &site.upstream.url(path)).send().await
}

fn refused(answer: &HttpResponse, limit: u32) -> Value {
    let problem = answer.problem(429, "too_many_pending");
    assert_eq!(problem["max_pending"], limit, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("already wait for approval"), "{problem}");
    assert!(problem["agent_action"].as_str().unwrap().contains("withdraw"), "{problem}");
    assert!(answer.header("retry-after").is_some());
    problem
}

engines! {
    async fn exactly_as_many_wait_as_may_however_they_come(setup: Setup) {
        let site = Site::with(setup).await;
        let agent = limited(&site, "ten", 10).await;
        let calls: Vec<_> = (0..40)
            .map(|number| tokio::spawn(agent.forward("api", "POST", &site.upstream.url(&format!("/{number}"))).send()))
            .collect();
        let mut paused = Vec::new();
        for call in calls {
            let answer = call.await.unwrap();
            if answer.status == 202 {
                paused.push(answer.txn());
            } else {
                refused(&answer, 10);
            }
        }
        assert_eq!(paused.len(), 10);
        crate::support::until("a record of every refusal", async || {
            let records = site.app.audit().await;
            let is_refusal = |record: &&Value| record["detail"]["rule"] == "too_many_pending";
            (records.iter().filter(is_refusal).count() == 30).then_some(())
        })
        .await;
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn identical_requests_that_join_one_another_need_one_place(setup: Setup) {
        let site = Site::with(setup).await;
        let agent = limited(&site, "one", 1).await;
        let calls: Vec<_> =
            (0..20).map(|_| tokio::spawn(agent.forward("api", "POST", &site.upstream.url("/same")).send())).collect();
        let mut txns = HashSet::new();
        for call in calls {
            txns.insert(call.await.unwrap().txn());
        }
        assert_eq!(txns.len(), 1);
        refused(&post(&site, &agent, "/other").await, 1);
    }

    async fn a_decision_a_withdrawal_and_the_end_of_the_window_free_a_place(setup: Setup) {
        let site = Site::with(setup).await;
        let agent = limited(&site, "one", 1).await;
        let mut txn = post(&site, &agent, "/0").await.txn();
        for (number, end) in ["approve", "deny", "withdraw"].into_iter().enumerate() {
            refused(&post(&site, &agent, "/more").await, 1);
            match end {
                "approve" => drop(site.owner.approve(&txn).await),
                "deny" => drop(site.owner.deny(&txn, "no").await),
                _ => drop(agent.withdraw(&txn).await.expect(204)),
            }
            txn = post(&site, &agent, &format!("/{}", number + 1)).await.txn();
        }
        // Another agent has its own limit, and other requests are not limited.
        site.pause("/other").await;
        agent.forward("api", "GET", &site.upstream.url("/read")).send().await.forwarded(200);
    }

    async fn a_place_refused_gives_the_idempotency_key_back(setup: Setup) {
        let site = Site::with(setup).await;
        let agent = limited(&site, "one", 1).await;
        let txn = post(&site, &agent, "/first").await.txn();
        let keyed = || agent.forward("api", "POST", &site.upstream.url("/second")).header("idempotency-key", "k");
        refused(&keyed().send().await, 1);
        drop(agent.withdraw(&txn).await.expect(204));
        let second = crate::support::until("the key", async || {
            let answer = keyed().send().await;
            (answer.status == 202).then(|| answer.txn())
        })
        .await;
        assert_eq!(keyed().send().await.txn(), second);
    }

    async fn a_signature_needs_a_place_like_any_request(setup: Setup) {
        let site = Site::with(setup).await;
        let key = json!({"name": "key", "auth": {"kind": "signing_key", "algorithm": "secp256k1"}});
        site.owner.add_credential(&key).await;
        let agent = limited(&site, "one", 1).await;
        let sign = |payload: &str| {
            let body = json!({"payload": payload, "encoding": "utf8", "algorithm": "secp256k1", "hash": "sha256"});
            agent.client.post("/sign", &body).header("x-px-credential", "key").send()
        };
        let txn = sign("one").await.txn();
        assert_eq!(sign("one").await.txn(), txn, "the identical one joins");
        refused(&sign("two").await, 1);
        refused(&post(&site, &agent, "/").await, 1);
        site.owner.deny(&txn, "no").await;
        sign("two").await.txn();
    }

    async fn the_limit_is_a_hundred_until_a_manager_changes_it(setup: Setup) {
        let site = Site::with(setup).await;
        let made = site.owner.add_agent(&json!({"name": "usual", "credentials": "all"})).await;
        assert_eq!(made["max_pending"], 100);
        let path = format!("/admin/agents/{}", made["id"].as_str().unwrap());
        let agent = site.app.agent(made["key"].as_str().unwrap());
        let change = async |limit: Value| site.owner.client.patch(&path, &json!({"max_pending": limit})).send().await;
        for wrong in [0, 100_001] {
            let problem = change(json!(wrong)).await.problem(422, "invalid_field");
            assert_eq!(problem["field"], "max_pending");
        }
        assert_eq!(change(json!(100_000)).await.expect(200).json()["max_pending"], 100_000);
        let limited = site.app.cli_json(&["agent", "limit", "usual", "--max-pending", "7"]).await;
        assert_eq!((&limited["max_pending"], &limited["rate_limit_per_hour"]), (&json!(7), &Value::Null));
        assert_eq!(change(json!(1)).await.expect(200).json()["max_pending"], 1);
        post(&site, &agent, "/1").await.txn();
        refused(&post(&site, &agent, "/2").await, 1);
        change(json!(2)).await.expect(200);
        post(&site, &agent, "/2").await.txn();
        assert_eq!(change(Value::Null).await.expect(200).json()["max_pending"], 100);
        for number in 3..=100 {
            post(&site, &agent, &format!("/{number}")).await.txn();
        }
        refused(&post(&site, &agent, "/101").await, 100);
    }
}
