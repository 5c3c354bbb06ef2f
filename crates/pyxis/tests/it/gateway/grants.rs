//! Grants: `docs/reference/behavior/proxy.md#grants`.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Agent, Setup, Site};

/// Approves a POST to `path` together with a grant, and waits until it was sent.
async fn granted(site: &Site, path: &str, body: &Value) -> Value {
    let txn = site.pause(path).await;
    site.owner.approve_with(&txn, body).await;
    site.agent.outcome(&txn).await;
    let grants = site.owner.grants().await;
    grants.last().expect("a grant").clone()
}

/// True if a request passes without approval.
async fn passes(site: &Site, agent: &Agent, method: &str, path: &str) -> bool {
    let before = site.upstream.requests().len();
    let call = agent.forward("api", method, &site.upstream.url(path)).body("a body to approve");
    let answer = call.send().await;
    let sent = site.upstream.requests().len() - before;
    match (answer.status, sent) {
        (200, 1) => true,
        (202, 0) => {
            agent.withdraw(&answer.txn()).await.expect(204);
            false
        }
        other => panic!("{method} {path}: {other:?}"),
    }
}

async fn second_agent(site: &Site) -> Agent {
    let agent = site.owner.add_agent(&json!({"name": "second", "credentials": "all"})).await;
    site.app.agent(agent["key"].as_str().unwrap())
}

engines! {
    async fn a_grant_covers_its_method_and_route_for_every_agent(setup: Setup) {
        let site = Site::with(setup).await;
        let second = second_agent(&site).await;
        granted(&site, "/things?x=1", &json!({"grant_seconds": 900})).await;
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        assert!(passes(&site, &site.agent, "POST", "/things?y=2").await);
        assert!(passes(&site, &second, "POST", "/things").await);
        for (method, path) in [("PUT", "/things"), ("POST", "/things/1"), ("POST", "/thing"), ("POST", "/things/"), ("POST", "/Things")] {
            assert!(!passes(&site, &site.agent, method, path).await, "{method} {path}");
        }
        let explained = site.owner.explain("api", "POST", &site.upstream.url("/things")).await;
        assert_eq!((&explained["decision"], &explained["rule"]), (&json!("auto_approve"), &json!("grant")));
    }

    async fn explain_tells_the_agent_that_a_grant_serves_from_the_others(setup: Setup) {
        let site = Site::with(setup).await;
        let second = second_agent(&site).await;
        granted(&site, "/things", &json!({"grant_seconds": 900, "agent_only": true})).await;
        let url = site.upstream.url("/things");
        let people = [
            (&site.agent, "default-agent", ("auto_approve", "grant")),
            (&second, "second", ("require_approval", "gated_default")),
        ];
        for (agent, name, (decision, rule)) in people {
            let body = json!({"method": "POST", "url": url, "agent": name});
            let explained = site.owner.client.post("/admin/policies/api/explain", &body);
            let explained = explained.send().await.expect(200).json();
            let told = (&explained["decision"], &explained["rule"]);
            assert_eq!(told, (&json!(decision), &json!(rule)), "{name}");
            let passed = passes(&site, agent, "POST", "/things").await;
            assert_eq!(passed, decision == "auto_approve", "{name}");
        }
        let nobody = json!({"method": "POST", "url": url, "agent": "nobody"});
        let nobody = site.owner.client.post("/admin/policies/api/explain", &nobody);
        nobody.send().await.problem(404, "not_found");
    }

    async fn each_use_of_a_grant_is_audited_with_its_id(setup: Setup) {
        let site = Site::with(setup).await;
        let grant = granted(&site, "/things", &json!({"grant_seconds": 900})).await;
        for _ in 0..3 {
            assert!(passes(&site, &site.agent, "POST", "/things").await);
        }
        let with_grant = |record: &&Value| record["grant_id"] == grant["id"] && record["kind"] == "request.received";
        assert_eq!(site.app.audit().await.iter().filter(with_grant).count(), 3);
    }

    async fn a_grant_with_a_number_of_uses_ends_after_them(setup: Setup) {
        let site = Site::with(setup).await;
        granted(&site, "/things", &json!({"grant_seconds": 900, "max_uses": 5})).await;
        let calls: Vec<_> = (0..16)
            .map(|number| tokio::spawn(site.forward("POST", &format!("/things?{number}")).send()))
            .collect();
        let mut passed = 0;
        for call in calls {
            passed += usize::from(call.await.unwrap().status == 200);
        }
        assert_eq!(passed, 5);
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
    }

    async fn a_revoked_grant_is_over(setup: Setup) {
        let site = Site::with(setup).await;
        let grant = granted(&site, "/things", &json!({"grant_seconds": 900})).await;
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        let path = format!("/admin/grants/{}", grant["id"].as_str().unwrap());
        site.owner.client.delete(&path).send().await.expect(204);
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        assert_eq!(site.owner.grants().await, Vec::<Value>::new());
        site.owner.client.delete(&path).send().await.problem(409, "conflict");
        let unknown = format!("/admin/grants/{}", site.app.bootstrap["workspace_id"].as_str().unwrap());
        site.owner.client.delete(&unknown).send().await.problem(404, "not_found");
    }

    async fn a_grant_dies_for_good_when_the_policy_is_tightened(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.admin("bo@people.example").await;
        for tighter in [
            json!({"min_approvals": 2}),
            json!({"require_approval_urls": ["/things"]}),
            json!({"passkey_required": true}),
        ] {
            site.policy(&json!({})).await;
            granted(&site, "/things", &json!({"grant_seconds": 900})).await;
            assert!(passes(&site, &site.agent, "POST", "/things").await);
            site.policy(&tighter).await;
            assert!(!passes(&site, &site.agent, "POST", "/things").await, "{tighter}");
            site.policy(&json!({})).await;
            assert!(!passes(&site, &site.agent, "POST", "/things").await, "{tighter} was taken back");
        }
    }

    async fn a_grant_dies_when_the_secret_is_replaced(setup: Setup) {
        let site = Site::with(setup).await;
        granted(&site, "/things", &json!({"grant_seconds": 900})).await;
        let path = "/admin/credentials/api/secret";
        let replaced = site.owner.client.put(path, &json!({"secret": "another-canary"})).send().await;
        assert!([200, 204].contains(&replaced.status), "{}", replaced.text());
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        let seen = site.owner.client.get("/admin/credentials/api").send().await.expect(200).json();
        assert_eq!(seen["version"], 2);
    }

    async fn a_grant_dies_when_its_agent_is_disabled(setup: Setup) {
        let site = Site::with(setup).await;
        granted(&site, "/things", &json!({"grant_seconds": 900, "agent_only": true})).await;
        site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
        site.app.cli(&["agent", "enable", "default-agent"]).await.expect(0);
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
    }
}

#[tokio::test]
async fn a_grant_for_one_agent_serves_no_other() {
    let site = Site::new().await;
    let second = second_agent(&site).await;
    granted(&site, "/things", &json!({"grant_seconds": 900, "agent_only": true})).await;
    assert!(passes(&site, &site.agent, "POST", "/things").await);
    assert!(!passes(&site, &second, "POST", "/things").await);
}

#[tokio::test]
async fn a_star_in_the_approved_path_is_plain_data() {
    let site = Site::new().await;
    granted(&site, "/a/*", &json!({"grant_seconds": 900})).await;
    assert!(passes(&site, &site.agent, "POST", "/a/*").await);
    assert!(!passes(&site, &site.agent, "POST", "/a/b").await);
}

#[tokio::test]
async fn grants_last_from_15_minutes_to_24_hours() {
    let site = Site::new().await;
    for seconds in [json!(899), json!(86_401), json!(0), json!(-900), json!("900"), json!(1.5)] {
        let txn = site.pause("/bounds").await;
        let refused = site.owner.decide(&txn, "approve", &json!({"grant_seconds": seconds})).await;
        assert_eq!(refused.status, 422, "{seconds}: {}", refused.text());
        assert!(refused.text().contains("grant_seconds"), "{}", refused.text());
        assert_eq!(site.agent.poll(&txn).await["status"], "pending");
    }
    for seconds in [900, 86_400] {
        granted(&site, &format!("/{seconds}"), &json!({"grant_seconds": seconds})).await;
    }
    assert_eq!(site.owner.grants().await.len(), 2);
}

#[tokio::test]
async fn no_grant_comes_from_a_decision_of_two_people() {
    let site = Site::new().await;
    site.app.admin("bo@people.example").await;
    site.policy(&json!({"min_approvals": 2})).await;
    let txn = site.pause("/x").await;
    let refused = site.owner.decide(&txn, "approve", &json!({"grant_seconds": 900})).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert_eq!(site.owner.grants().await, Vec::<Value>::new());
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_grant_never_beats_a_required_approval() {
    let site = Site::new().await;
    site.policy(&json!({"require_approval_urls": ["/things"]})).await;
    let txn = site.pause("/things").await;
    site.owner.decide(&txn, "approve", &json!({"grant_seconds": 900})).await;
    site.agent.poll(&txn).await;
    assert!(!passes_after(&site, &txn).await);
}

/// True if a POST to /things passes, once the transaction before it (if approved) has been sent.
async fn passes_after(site: &Site, txn: &str) -> bool {
    if site.agent.poll(txn).await["status"] == "pending" {
        site.owner.approve(txn).await;
    }
    site.agent.outcome(txn).await;
    passes(site, &site.agent, "POST", "/things").await
}

#[tokio::test]
async fn allowed_hosts_still_bind_under_a_grant() {
    let site = Site::new().await;
    granted(&site, "/things", &json!({"grant_seconds": 900})).await;
    let patch = json!({"allowed_hosts": ["api.example.com"]});
    site.owner.client.patch("/admin/credentials/api", &patch).send().await.expect(200);
    site.forward("POST", "/things").send().await.problem(403, "host_not_allowed");
    assert_eq!(site.upstream.requests().len(), 1);
}
