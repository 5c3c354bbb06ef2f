//! Proposed tasks of agents that are disabled or removed: `docs/reference/behavior/proxy.md#tasks`.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::task_ends::agent_path;
use super::tasks::{action, get_task, post_task, propose};
use crate::support::{Setup, Site};

/// Audit records about a task, oldest first: kind, actor and detail.
async fn records(site: &Site, task: &str) -> Vec<Value> {
    let all = site.app.audit().await.into_iter();
    all.filter(|record| record["detail"]["task_id"] == json!(task)).collect()
}

async fn waiting(site: &Site) -> usize {
    let list = site.owner.client.get("/tasks?state=proposed").send().await.expect(200).json();
    list["tasks"].as_array().expect("a list").len()
}

engines! {
    async fn a_disabled_agents_proposals_are_withdrawn_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        let second = site.owner.add_agent(&json!({"name": "second", "credentials": "all"})).await;
        let second = site.app.agent(second["key"].as_str().unwrap());
        let one = propose(&site.agent, &json!([action(&site, "POST", "/1", 1)]), 60).await;
        let two = propose(&site.agent, &json!([action(&site, "POST", "/2", 1)]), 60).await;
        let other = propose(&second, &json!([action(&site, "POST", "/3", 1)]), 60).await;
        assert_eq!(waiting(&site).await, 3);
        let path = agent_path(&site).await;
        let patch = async |body: Value| {
            site.owner.client.patch(&path, &body).send().await.expect(200);
        };
        patch(json!({"enabled": false})).await;
        assert_eq!(waiting(&site).await, 1);
        for task in [&one, &two] {
            let withdrawn = get_task(&site, task).await;
            assert_eq!((&withdrawn["state"], &withdrawn["reason"]), (&json!("withdrawn"), &json!("agent disabled")));
            post_task(&site.owner, task, "approve", &json!({})).await.problem(409, "conflict");
            post_task(&site.owner, task, "deny", &json!({})).await.problem(409, "conflict");
            let records = records(&site, task).await;
            assert_eq!(records[1]["kind"], "task.withdrawn");
            let detail = json!({
                "task_id": task, "purpose": "Tidy the things", "agent": "default-agent", "reason": "agent disabled",
            });
            assert_eq!((records.len(), &records[1]["detail"]), (2, &detail));
            assert_eq!(records[1]["actor_name"], "owner@localhost");
        }
        assert_eq!(get_task(&site, &other).await["state"], "proposed", "of another agent");
        patch(json!({"enabled": true})).await;
        let told = site.agent.client.get(&format!("/agent/tasks/{one}")).send().await.expect(200).json();
        assert_eq!((&told["state"], &told["reason"]), (&json!("withdrawn"), &json!("agent disabled")));
        let again = propose(&site.agent, &json!([action(&site, "POST", "/1", 1)]), 60).await;
        assert_ne!(again, one, "its wording is free again");
    }

    async fn a_removed_agents_proposals_are_withdrawn_at_once(setup: Setup) {
        let site = Site::with(setup).await;
        let task = propose(&site.agent, &json!([action(&site, "POST", "/1", 1)]), 60).await;
        let path = agent_path(&site).await;
        site.owner.client.delete(&path).send().await.expect(204);
        let withdrawn = get_task(&site, &task).await;
        assert_eq!((&withdrawn["state"], &withdrawn["reason"]), (&json!("withdrawn"), &json!("agent removed")));
        let records = records(&site, &task).await;
        assert_eq!((&records[1]["kind"], &records[1]["detail"]["reason"]), (&json!("task.withdrawn"), &json!("agent removed")));
    }

    async fn the_command_line_withdraws_the_proposals_of_an_agent_that_it_disables(setup: Setup) {
        let site = Site::with(setup).await;
        let task = propose(&site.agent, &json!([action(&site, "POST", "/1", 1)]), 60).await;
        site.app.cli(&["agent", "disable", "default-agent"]).await.expect(0);
        assert_eq!(get_task(&site, &task).await["state"], "withdrawn");
    }

    async fn a_disabled_agent_leaves_no_proposal_however_fast_it_proposes(setup: Setup) {
        let site = Site::with(setup).await;
        let path = agent_path(&site).await;
        for round in 0..10 {
            let task = json!({
                "purpose": "Tidy the things", "minutes": 60,
                "actions": [action(&site, "POST", &format!("/{round}"), 1)],
            });
            let disabled = json!({"enabled": false});
            let disable = site.owner.client.patch(&path, &disabled).send();
            let (proposed, disabled) =
                tokio::join!(site.agent.client.post("/agent/tasks", &task).send(), disable);
            disabled.expect(200);
            assert!([202, 401].contains(&proposed.status), "round {round}: {}", proposed.text());
            assert_eq!(waiting(&site).await, 0, "round {round}");
            site.owner.client.patch(&path, &json!({"enabled": true})).send().await.expect(200);
        }
    }
}
