//! Audit records of tasks that a change of configuration stops: `docs/reference/behavior/proxy.md#tasks`.

use pyxis_testkit::engines;
use pyxis_testkit::upstream::Upstream;
use serde_json::{Value, json};

use super::task_ends::agent_path;
use super::tasks::{action, approved, get_task, passes, post_task, propose};
use super::token_refresh::{connect, manager, two_accounts};
use crate::support::{Setup, Site};

/// Asserts that `change` stops a running task for this reason, and that its audit record comes right before that of the
/// change.
async fn check(site: &Site, reason: &str, kind: &str, change: impl AsyncFnOnce()) {
    let task = approved(site, "POST", "/things", 100).await;
    assert!(passes(site, &site.agent, "POST", "/things").await);
    // One that is over, and one that was never approved, are not stopped.
    let over = approved(site, "POST", "/over", 100).await;
    post_task(&site.owner, &over, "stop", &json!({})).await.expect(200);
    change().await;
    let stopped = get_task(site, &task).await;
    assert_eq!((&stopped["state"], &stopped["reason"]), (&json!("stopped"), &json!(reason)));
    let records = site.app.audit().await;
    let of_task =
        |record: &&Value| record["kind"] == "task.stopped" && record["detail"]["task_id"] == json!(task);
    let [record] = records.iter().filter(of_task).collect::<Vec<_>>().try_into().expect("one record");
    let expected = json!({
        "task_id": task, "purpose": "Tidy the things", "agent": "default-agent", "uses": 1, "reason": reason,
    });
    assert_eq!(record["detail"], expected);
    let next =
        records.iter().find(|other| other["seq"].as_i64() == record["seq"].as_i64().map(|seq| seq + 1));
    let next = next.expect("the record of the change");
    assert_eq!(next["kind"], kind, "{reason}");
    assert_eq!(record["actor_name"], next["actor_name"], "{reason}");
    let of_over = records.iter().filter(|record| record["detail"]["task_id"] == json!(over));
    assert_eq!(of_over.filter(|record| record["kind"] == "task.stopped").count(), 1, "by the person");
}

engines! {
    async fn each_automatic_stop_of_a_task_is_audited_with_its_reason(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "other-canary"})).await;
        let path = agent_path(&site).await;
        let client = &site.owner.client;
        let patch = async |body: Value| {
            client.patch(&path, &body).send().await.expect(200);
        };
        check(&site, "agent disabled", "agent.disabled", async || patch(json!({"enabled": false})).await).await;
        patch(json!({"enabled": true})).await;
        let reason = "credential taken from the agent";
        check(&site, reason, "agent.updated", async || patch(json!({"credentials": ["other"]})).await).await;
        patch(json!({"credentials": "all"})).await;
        check(&site, "policy tightened", "policy.changed", async || {
            site.policy(&json!({"require_approval_urls": ["/things"]})).await;
        }).await;
        site.policy(&json!({})).await;
        check(&site, "policy tightened", "policy.changed", async || {
            site.policy(&json!({"passkey_required": true})).await;
        }).await;
        site.policy(&json!({})).await;
        check(&site, "secret replaced", "credential.secret_replaced", async || {
            let secret = json!({"secret": "another-canary"});
            client.put("/admin/credentials/api/secret", &secret).send().await.expect(200);
        }).await;
        check(&site, "credential removed", "credential.removed", async || {
            client.delete("/admin/credentials/api").send().await.expect(204);
        }).await;
        site.app.cli(&["audit", "verify"]).await.expect(0);
    }

    async fn a_removed_agents_tasks_are_audited_too(setup: Setup) {
        let site = Site::with(setup).await;
        let path = agent_path(&site).await;
        check(&site, "agent removed", "agent.removed", async || {
            site.owner.client.delete(&path).send().await.expect(204);
        }).await;
    }

    async fn a_connected_account_stops_tasks_of_the_account_before(setup: Setup) {
        let site = Site::bare(setup).await;
        let tokens = Upstream::http().await;
        two_accounts(&site, &tokens).await;
        let browser = manager(&site).await;
        let change = async || connect(&browser).await;
        check(&site, "account connected", "credential.connected", change).await;
    }

    async fn a_change_that_stops_no_task_records_none(setup: Setup) {
        let site = Site::with(setup).await;
        let waiting = propose(&site.agent, &json!([action(&site, "POST", "/more", 1)]), 60).await;
        let running = approved(&site, "POST", "/things", 5).await;
        site.policy(&json!({"require_approval_urls": ["/elsewhere"]})).await;
        assert_eq!(get_task(&site, &running).await["state"], "approved");
        assert_eq!(get_task(&site, &waiting).await["state"], "proposed");
        let records = site.app.audit().await;
        assert!(!records.iter().any(|record| record["kind"] == "task.stopped"), "{records:#?}");
    }
}
