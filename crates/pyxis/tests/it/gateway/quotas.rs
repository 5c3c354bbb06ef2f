//! Quotas of pending requests and kept bytes (`docs/reference/behavior/proxy.md#quotas`).

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::{Agent, HttpResponse, Setup, Site, until};

async fn agent(site: &Site, name: &str) -> Agent {
    let agent = site.owner.add_agent(&json!({"name": name, "credentials": "all"})).await;
    site.app.agent(agent["key"].as_str().unwrap())
}

async fn post(site: &Site, agent: &Agent, path: &str, body: usize) -> HttpResponse {
    agent.forward("api", "POST", &site.upstream.url(path)).body("x".repeat(body)).send().await
}

fn refused(answer: &HttpResponse, quota: &str, limit: u64) {
    let problem = answer.problem(429, "quota_exceeded");
    assert_eq!((&problem["quota"], &problem["limit"]), (&json!(quota), &json!(limit)), "{problem}");
    assert!(problem["agent_action"].is_string() && answer.header("retry-after").is_some(), "{answer:?}");
}

engines! {
    async fn agents_together_fill_the_inbox_only_up_to_the_workspace_s_limit(setup: Setup) {
        let site = Site::with(setup.env("PX_WORKSPACE_PENDING_MAX", "5")).await;
        let agents = [agent(&site, "one").await, agent(&site, "two").await];
        let calls: Vec<_> = (0..20)
            .map(|n| {
                let call = agents[n % 2].forward("api", "POST", &site.upstream.url(&format!("/{n}")));
                tokio::spawn(call.send())
            })
            .collect();
        let mut paused = Vec::new();
        for call in calls {
            let answer = call.await.unwrap();
            if answer.status == 202 {
                paused.push(answer.txn());
            } else {
                refused(&answer, "workspace_pending", 5);
            }
        }
        assert_eq!(paused.len(), 5);
        until("a record of every refusal", async || {
            let records = site.app.audit().await;
            let count = records.iter().filter(|record| record["detail"]["rule"] == "quota_exceeded").count();
            (count == 15).then_some(())
        })
        .await;
        site.owner.approve(&paused[0]).await;
        post(&site, &agents[0], "/more", 1).await.txn();
    }

    async fn an_agent_fills_the_disk_only_up_to_its_quota_and_others_go_on(setup: Setup) {
        let setup = setup.env("PX_AGENT_KEPT_MAX_BYTES", "50000").env("PX_WORKSPACE_KEPT_MAX_BYTES", "90000");
        let site = Site::with(setup).await;
        let (one, two) = (agent(&site, "one").await, agent(&site, "two").await);
        let first = post(&site, &one, "/a", 30_000).await.txn();
        refused(&post(&site, &one, "/b", 30_000).await, "agent_kept_bytes", 50_000);
        drop(one.withdraw(&first).await.expect(204));
        refused(&post(&site, &one, "/c", 30_000).await, "agent_kept_bytes", 50_000);
        post(&site, &two, "/d", 45_000).await.txn();
        refused(&post(&site, &one, "/e", 19_000).await, "workspace_kept_bytes", 90_000);
        post(&site, &one, "/f", 100).await.txn();
    }

    async fn a_response_beyond_the_quota_is_passed_on_and_not_kept_for_its_key(setup: Setup) {
        let site = Site::with(setup.env("PX_AGENT_KEPT_MAX_BYTES", "50000")).await;
        site.upstream.reply_with(|_| Reply::ok("x".repeat(30_000)));
        let agent = agent(&site, "one").await;
        let call = async |key: &str| {
            let call = agent.forward("api", "GET", &site.upstream.url("/"));
            call.header("idempotency-key", key).send().await
        };
        for _ in 0..2 {
            assert_eq!(call("one").await.forwarded(200).text().len(), 30_000);
        }
        assert_eq!(site.upstream.requests().len(), 1);
        assert_eq!(call("two").await.forwarded(200).text().len(), 30_000);
        let again = call("two").await;
        assert_eq!(again.status, 502, "{again:?}");
        assert_eq!(site.upstream.requests().len(), 2, "it is not sent again");
    }
}
