//! Tasks that end with a change of their agent, and lists of tasks: `docs/reference/behavior/proxy.md#tasks`.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::tasks::{action, approved, get_task, passes, post_task, propose};
use crate::support::{Setup, Site};

/// Path of the default agent.
pub(super) async fn agent_path(site: &Site) -> String {
    let list = site.owner.client.get("/admin/agents").send().await.expect(200).json();
    format!("/admin/agents/{}", list["agents"][0]["id"].as_str().expect("an id"))
}

fn ids(list: &Value) -> Vec<&str> {
    list["tasks"].as_array().expect("a list").iter().map(|task| task["task_id"].as_str().unwrap()).collect()
}

engines! {
    async fn a_task_stops_for_good_when_its_credential_is_taken_from_the_agent(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "other-canary"})).await;
        let path = agent_path(&site).await;
        let assign = async |credentials: Value| {
            site.owner.client.patch(&path, &json!({"credentials": credentials})).send().await.expect(200);
        };
        let task = approved(&site, "POST", "/things", 100).await;
        for kept in [json!(["other", "api"]), json!("all"), json!(["api"])] {
            assign(kept).await;
            assert!(passes(&site, &site.agent, "POST", "/things").await);
        }
        assign(json!(["other"])).await;
        let stopped = get_task(&site, &task).await;
        assert_eq!(
            (&stopped["state"], &stopped["reason"]),
            (&json!("stopped"), &json!("credential taken from the agent"))
        );
        assign(json!("all")).await;
        assert!(!passes(&site, &site.agent, "POST", "/things").await, "it stays stopped");
    }

    async fn no_task_of_a_disabled_agent_runs_however_fast_it_is_approved(setup: Setup) {
        let site = Site::with(setup).await;
        let path = agent_path(&site).await;
        for round in 0..10 {
            let task = propose(&site.agent, &json!([action(&site, "POST", &format!("/{round}"), 1)]), 60).await;
            let everything = json!({});
            let disabled = json!({"enabled": false});
            let disable = site.owner.client.patch(&path, &disabled).send();
            let (_, disabled) = tokio::join!(post_task(&site.owner, &task, "approve", &everything), disable);
            disabled.expect(200);
            let state = get_task(&site, &task).await["state"].clone();
            assert!(state == "withdrawn" || state == "stopped", "round {round}: {state}");
            site.owner.client.patch(&path, &json!({"enabled": true})).send().await.expect(200);
        }
    }

    async fn a_list_has_full_pages_of_what_a_member_may_see(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "other-canary"})).await;
        let member = json!({
            "email": "mem@people.example", "role": "member", "credentials": [{"name": "api", "approve": true}],
        });
        site.owner.client.post("/admin/invitations", &member).send().await.expect(201);
        let member = site.app.sign_in("mem@people.example").await;
        let (mut mine, mut all) = (Vec::new(), Vec::new());
        for round in 0..3 {
            let api = action(&site, "POST", &format!("/{round}"), 1);
            let mut other = api.clone();
            other["credential"] = json!("other");
            let mixed = json!([action(&site, "POST", &format!("/mixed/{round}"), 1), other]);
            for (actions, is_mine) in [(mixed, false), (json!([api]), true)] {
                let task = propose(&site.agent, &actions, 30).await;
                post_task(&site.owner, &task, "approve", &json!({})).await.expect(200);
                if is_mine {
                    mine.insert(0, task.clone());
                }
                all.insert(0, task);
            }
        }
        let page = async |query: &str| {
            member.client.get(&format!("/tasks?{query}")).send().await.expect(200).json()
        };
        let first = page("limit=2").await;
        assert_eq!(ids(&first), mine[..2]);
        let next = first["next_before"].as_str().expect("another page");
        assert_eq!(ids(&page(&format!("limit=2&before={next}")).await), mine[2..]);
        // The last one is used up.
        assert!(passes(&site, &site.agent, "POST", "/2").await);
        let by_state = async |state: &str| {
            site.owner.client.get(&format!("/tasks?state={state}")).send().await.expect(200).json()
        };
        let (ended, running) = (by_state("ended").await, by_state("approved").await);
        assert_eq!(ids(&ended), mine[..1]);
        assert_eq!(ids(&running).len(), all.len() - 1);
        assert!(!ids(&running).contains(&ids(&ended)[0]));
        site.app.sql("UPDATE tasks SET expires_at = created_at");
        assert_eq!(ids(&by_state("ended").await), all);
        assert_eq!(ids(&by_state("approved").await), [""; 0]);
    }
}
