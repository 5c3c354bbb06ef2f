//! Two workspaces that use the same names for everything: nothing crosses.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Reply;
use serde_json::json;

use crate::support::{Agent, Person, Setup, Site, in_one_hour};

/// The second workspace of a site, with its own credential `api` and agent `default-agent`.
struct Second {
    owner: Person,
    agent: Agent,
}

const OTHER_SECRET: &str = "other-canary-5521";

async fn second(site: &Site) -> Second {
    let made =
        site.app.cli_json(&["workspace", "add", "other", "--owner-email", "owner@other.example"]).await;
    let agent = site.app.agent(made["agent_key"].as_str().unwrap());
    let owner = site.app.sign_in("owner@other.example").await;
    let body = json!({
        "name": "api", "auth": {"kind": "bearer"}, "secret": OTHER_SECRET,
        "allowed_hosts": [site.upstream.addr().to_string()], "allow_http": true,
    });
    owner.add_credential(&body).await;
    Second { owner, agent }
}

#[tokio::test]
async fn only_the_first_workspace_names_a_sidecar_on_a_private_network() {
    let site = Site::bare(Setup::new().without("PX_EGRESS_ALLOW")).await;
    let fields = json!({
        "name": "signed", "connector": "sidecar", "api_base": site.upstream.url(""),
        "allowed_hosts": ["api.example.com"],
    });
    site.owner.add_credential(&fields).await;
    let other = second(&site).await;
    other.owner.add_credential(&fields).await;
    let ask = |agent: &Agent| agent.forward("signed", "GET", "https://api.example.com/x").send();
    ask(&site.agent).await.forwarded(200);
    ask(&other.agent).await.problem(403, "target_not_allowed");
    assert_eq!(site.upstream.requests().len(), 1);
}

engines! {
    async fn each_agent_gets_its_own_workspaces_secret(setup: Setup) {
        let site = Site::with(setup).await;
        let other = second(&site).await;
        site.forward("GET", "/").send().await.forwarded(200);
        other.agent.forward("api", "GET", &site.upstream.url("/")).send().await.forwarded(200);
        let requests = site.upstream.requests();
        assert_ne!(requests[0].header("authorization"), requests[1].header("authorization"));
        assert_eq!(requests[1].header("authorization"), Some(format!("Bearer {OTHER_SECRET}").as_str()));
        site.credential("only-here", &json!({"auth": {"kind": "bearer"}, "secret": "s3cret"})).await;
        let answer = other.agent.forward("only-here", "GET", &site.upstream.url("/")).send().await;
        answer.problem(404, "credential_not_found");
    }

    async fn transactions_and_approvals_do_not_cross(setup: Setup) {
        let site = Site::with(setup).await;
        let other = second(&site).await;
        let url = site.upstream.url("/x");
        let here = site.pause("/x").await;
        let there = other.agent.forward("api", "POST", &url).body("a body to approve").send().await.txn();
        assert_ne!(here, there);
        for (agent, owner, foreign) in [(&site.agent, &site.owner, &there), (&other.agent, &other.owner, &here)] {
            agent.client.get(&format!("/agent/approvals/{foreign}")).send().await.problem(404, "not_found");
            agent.withdraw(foreign).await.problem(404, "not_found");
            owner.client.get(&format!("/approvals/{foreign}")).send().await.problem(404, "not_found");
            owner.decide(foreign, "approve", &json!({})).await.problem(404, "not_found");
            owner.decide(foreign, "deny", &json!({})).await.problem(404, "not_found");
            let inbox = owner.client.get("/approvals").send().await.expect(200).json();
            assert_eq!(inbox["approvals"].as_array().unwrap().len(), 1);
        }
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn policies_modes_and_grants_do_not_cross(setup: Setup) {
        let site = Site::with(setup).await;
        let other = second(&site).await;
        let url = site.upstream.url("/x");
        let txn = site.pause("/x").await;
        site.owner.approve_with(&txn, &json!({"grant_seconds": 900})).await;
        site.agent.outcome(&txn).await;
        assert_eq!(other.agent.forward("api", "POST", &url).send().await.status, 202);
        assert_eq!(other.owner.grants().await.len(), 0);
        let grant = site.owner.grants().await.remove(0);
        let path = format!("/admin/grants/{}", grant["id"].as_str().unwrap());
        other.owner.client.delete(&path).send().await.problem(404, "not_found");
        site.policy(&json!({"deny_methods": ["GET"]})).await;
        other.agent.forward("api", "GET", &url).send().await.forwarded(200);
        let mode = json!({"default_approval_mode": "autonomous"});
        other.owner.client.patch("/admin/settings", &mode).send().await.expect(200);
        site.credential("plain", &json!({"auth": {"kind": "bearer"}, "secret": "s3cret"})).await;
        assert_eq!(site.agent.forward("plain", "POST", &url).send().await.status, 202);
    }

    async fn budgets_and_idempotency_keys_do_not_cross(setup: Setup) {
        in_one_hour(setup, async |setup| {
            let site = Site::with(setup).await;
            let other = second(&site).await;
            let url = site.upstream.url("/x");
            let body = json!({"name": "same", "credentials": "all", "rate_limit_per_hour": 1});
            let key = |agent: serde_json::Value| agent["key"].as_str().unwrap().to_owned();
            let here = site.app.agent(&key(site.owner.add_agent(&body).await));
            let there = site.app.agent(&key(other.owner.add_agent(&body).await));
            for agent in [&here, &there] {
                agent.forward("api", "GET", &url).send().await.forwarded(200);
                agent.forward("api", "GET", &url).send().await.problem(429, "rate_limited");
            }
            site.upstream.reply(Reply::ok("here")).reply(Reply::ok("there"));
            for (agent, answer) in [(&site.agent, "here"), (&other.agent, "there"), (&site.agent, "here")] {
                let call = agent.forward("api", "GET", &url).header("idempotency-key", "k");
                assert_eq!(call.send().await.forwarded(200).text(), answer);
            }
        })
        .await;
    }

    async fn records_and_lists_do_not_cross(setup: Setup) {
        let site = Site::with(setup).await;
        let other = second(&site).await;
        site.forward("GET", "/only-here").send().await.forwarded(200);
        let theirs = other.owner.client.get("/admin/audit").send().await.expect(200).text();
        assert!(!theirs.contains("only-here"));
        let ours = site.owner.client.get("/admin/audit").send().await.expect(200).text();
        assert!(ours.contains("only-here") && !ours.contains("owner@other.example"));
        let mine = site.owner.client.get("/admin/agents").send().await.expect(200).json();
        let foreign = mine["agents"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/admin/agents/{foreign}");
        other.owner.client.patch(&path, &json!({"name": "stolen"})).send().await.problem(404, "not_found");
        other.owner.client.call("POST", &format!("{path}/rotate")).send().await.problem(404, "not_found");
        other.owner.client.delete(&path).send().await.problem(404, "not_found");
        let members = other.owner.client.get("/admin/members").send().await.expect(200).json();
        assert_eq!(members["members"].as_array().unwrap().len(), 1);
        site.forward("GET", "/still-mine").send().await.forwarded(200);
    }
}
