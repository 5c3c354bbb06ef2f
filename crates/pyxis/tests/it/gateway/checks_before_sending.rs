//! Checks that are repeated before sending (`docs/reference/behavior/proxy.md#at-most-once`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use crate::support::{Setup, Site};

/// Approves, and returns the error that the transaction ends with; nothing may have been sent.
async fn fails(site: &Site, txn: &str) -> Value {
    site.owner.approve(txn).await;
    let outcome = site.agent.outcome(txn).await;
    assert_eq!((&outcome["status"], &outcome["response"]), (&json!("approved"), &Value::Null));
    assert_eq!(site.upstream.requests().len(), 0);
    outcome["error"].clone()
}

engines! {
    async fn a_replaced_secret_is_no_longer_what_was_approved(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        let call = site.owner.client.put("/admin/credentials/api/secret", &json!({"secret": "another-canary"}));
        let replaced = call.send().await;
        assert!([200, 204].contains(&replaced.status), "{}", replaced.text());
        assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
    }

    async fn a_disabled_agents_request_is_not_sent(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
        site.owner.decide(&txn, "approve", &json!({})).await;
        let path = format!("/approvals/{txn}");
        let over = crate::support::until("the request's end", async || {
            let seen = site.owner.client.get(&path).send().await.expect(200).json();
            (!seen["error"].is_null()).then_some(seen)
        });
        assert_eq!(over.await["error"], "no_longer_allowed");
        assert_eq!(site.upstream.requests().len(), 0);
    }

    async fn a_credential_that_is_gone_is_not_used(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.owner.client.delete("/admin/credentials/api").send().await.expect(204);
        assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
    }

    async fn a_request_that_is_not_the_one_the_approver_saw_is_not_sent(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        let another = "0".repeat(64);
        site.app.sql(&format!("UPDATE approvals SET digest = '{another}' WHERE txn_id = '{txn}'"));
        assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
    }

    async fn a_request_with_a_method_of_a_newer_release_is_shown_and_neither_sent_nor_granted(setup: Setup) {
        let site = Site::with(setup).await;
        let txn = site.pause("/x").await;
        site.app.sql(&format!("UPDATE approvals SET method = 'QUERY' WHERE txn_id = '{txn}'"));
        let seen = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert_eq!((&seen["method"], &seen["grant_coverage"]), (&json!("QUERY"), &Value::Null));
        let refused = site.owner.decide(&txn, "approve", &json!({"grant_seconds": 900})).await;
        let detail = refused.problem(422, "invalid_field")["detail"].to_string();
        assert!(detail.contains("no grant can cover the method"), "{detail}");
        assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
    }
}

#[tokio::test]
async fn a_host_that_was_removed_is_not_reached() {
    let site = Site::new().await;
    let txn = site.pause("/x").await;
    let patch = json!({"allowed_hosts": ["api.example.com"]});
    site.owner.client.patch("/admin/credentials/api", &patch).send().await.expect(200);
    assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
}

#[tokio::test]
async fn a_policy_that_now_denies_wins() {
    let site = Site::new().await;
    let txn = site.pause("/x").await;
    site.policy(&json!({"deny_urls": ["/x"]})).await;
    assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
}

#[tokio::test]
async fn a_credential_withdrawn_from_the_agent_is_not_used() {
    let site = Site::new().await;
    let agent = site.owner.add_agent(&json!({"name": "narrow", "credentials": ["api"]})).await;
    let narrow = site.app.agent(agent["key"].as_str().unwrap());
    let txn = narrow.forward("api", "POST", &site.upstream.url("/x")).send().await.txn();
    let path = format!("/admin/agents/{}", agent["id"].as_str().unwrap());
    site.owner.client.patch(&path, &json!({"credentials": []})).send().await.expect(200);
    site.owner.approve(&txn).await;
    assert_eq!(narrow.outcome(&txn).await["error"], "no_longer_allowed");
    assert_eq!(site.upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_network_that_the_operator_closed_is_not_reached() {
    let mut site = Site::new().await;
    let txn = site.pause("/x").await;
    site.app.restart_with(|setup| setup.without("PX_EGRESS_ALLOW")).await;
    assert_eq!(fails(&site, &txn).await, "no_longer_allowed");
}
