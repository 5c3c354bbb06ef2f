//! Facts of a task that its agent learns, and those that only people learn (`docs/reference/behavior/proxy.md#tasks`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::tasks::{action, get_task, passes, post_task, propose};
use crate::support::{HttpResponse, Setup, Site};

/// Secret of the credential `other`.
const OTHER: &str = "plain-canary-4711";

async fn with_other(setup: Setup) -> Site {
    let site = Site::with(setup).await;
    site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": OTHER})).await;
    site
}

async fn propose_with_purpose(site: &Site, purpose: &str, actions: &Value) -> HttpResponse {
    let body = json!({"purpose": purpose, "actions": actions, "minutes": 5});
    site.agent.client.post("/agent/tasks", &body).send().await
}

async fn get_own_task(site: &Site, task: &str) -> Value {
    site.agent.client.get(&format!("/agent/tasks/{task}")).send().await.expect(200).json()
}

/// The answer without what differs between any two tasks.
fn shape(mut task: Value) -> Value {
    for member in ["task_id", "page", "created_at", "expires_at"] {
        task[member] = Value::Null;
    }
    task
}

engines! {
    async fn an_agent_cannot_test_guesses_of_secrets_with_a_proposal(setup: Setup) {
        let site = with_other(setup).await;
        let mut shapes = Vec::new();
        for guess in [OTHER, "plain-canary-4712"] {
            let mut guessing = action(&site, "POST", &format!("/{guess}"), 1);
            guessing["content"] = json!([format!("json /to = \"{guess}\"")]);
            let actions = json!([guessing, action(&site, "POST", &format!("/plain/{guess}"), 1)]);
            let task = propose_with_purpose(&site, &format!("Use {guess}"), &actions).await.expect(202).json();
            let id = task["task_id"].as_str().unwrap().to_owned();
            assert_eq!(task["purpose"], Value::Null);
            assert_eq!(task["actions"][0]["url"], actions[0]["url"], "the agent gets its own URL back");
            for member in ["url", "content"] {
                assert_eq!(get_own_task(&site, &id).await["actions"][0][member], actions[0][member]);
            }
            shapes.push(shape(task).to_string().replace(guess, ""));
            site.owner.client.get(&format!("/tasks/{id}")).send().await.expect(200).hides(OTHER);
            post_task(&site.owner, &id, "approve", &json!({})).await.expect(200).hides(OTHER);
            assert!(passes(&site, &site.agent, "POST", &format!("/plain/{guess}")).await, "{guess}");
        }
        assert_eq!(shapes[0], shapes[1]);
        // Redaction joins no two proposals.
        let actions = json!([action(&site, "POST", "/a", 1)]);
        let mut ids = Vec::new();
        for purpose in [format!("Use {OTHER}"), "Use [REDACTED:other]".to_owned()] {
            let task = propose_with_purpose(&site, &purpose, &actions).await.expect(202).json();
            ids.push(task["task_id"].clone());
        }
        assert_ne!(ids[0], ids[1]);
        let of_tasks: Vec<_> = site.app.audit().await.into_iter().filter(|record| {
            record["kind"].as_str().is_some_and(|kind| kind.starts_with("task."))
        }).collect();
        assert_eq!(of_tasks.len(), 6);
        assert!(!json!(of_tasks).to_string().contains(OTHER), "{of_tasks:?}");
    }

    async fn a_url_with_the_secret_of_its_own_credential_is_refused_and_recorded(setup: Setup) {
        let site = with_other(setup).await;
        let mut own = action(&site, "POST", &format!("/{OTHER}"), 1);
        own["credential"] = json!("other");
        let actions = json!([action(&site, "POST", "/a", 1), own]);
        let refused = propose_with_purpose(&site, "Use it", &actions).await.problem(422, "invalid_field");
        assert_eq!(refused["field"], "actions[1].url");
        let mut own = action(&site, "POST", "/a", 1);
        (own["credential"], own["content"]) = (json!("other"), json!([format!("json /to = \"{OTHER}\"")]));
        let refused = propose_with_purpose(&site, "Use it", &json!([own])).await.problem(422, "invalid_field");
        assert_eq!(refused["field"], "actions[0].content");
        let records = site.app.audit().await;
        let record = records.iter().find(|record| record["kind"] == "task.proposed").expect("a record");
        assert_eq!(
            (&record["decision"], &record["credential"], &record["detail"]["rule"]),
            (&json!("refused"), &json!("other"), &json!("stored_secret"))
        );
        assert!(!json!(records).to_string().contains(OTHER));
    }

    async fn a_full_list_of_proposals_is_said_before_anything_about_credentials(setup: Setup) {
        let site = with_other(setup).await;
        for number in 0..5 {
            propose(&site.agent, &json!([action(&site, "POST", &format!("/{number}"), 1)]), 60).await;
        }
        for (member, value) in [
            ("credential", json!("nope")),
            ("credential", json!("other")),
            ("url", json!("https://elsewhere.example/a")),
        ] {
            let mut guess = action(&site, "POST", &format!("/{OTHER}"), 1);
            guess[member] = value;
            propose_with_purpose(&site, "Use it", &json!([guess])).await.problem(429, "too_many_pending");
        }
        propose(&site.agent, &json!([action(&site, "POST", "/4", 1)]), 60).await;
    }

    async fn an_agent_does_not_learn_who_decided_and_people_do(setup: Setup) {
        let site = Site::with(setup).await;
        let task = propose(&site.agent, &json!([action(&site, "POST", "/a", 1)]), 60).await;
        post_task(&site.owner, &task, "approve", &json!({})).await.expect(200);
        let running = get_own_task(&site, &task).await;
        assert_eq!((&running["state"], running.get("decided_by")), (&json!("approved"), None));
        post_task(&site.owner, &task, "stop", &json!({})).await.expect(200);
        let shown = get_task(&site, &task).await;
        let owner = shown["decided_by"].as_str().expect("an address").to_owned();
        assert_eq!((&shown["reason"], &shown["stopped_by"]), (&json!("stopped by a person"), &json!(owner)));
        let stopped = get_own_task(&site, &task).await;
        assert_eq!((&stopped["state"], &stopped["reason"]), (&json!("stopped"), &json!("stopped by a person")));
        for answer in [running, stopped] {
            assert!(!answer.to_string().contains(&owner), "{answer}");
        }
    }

    async fn a_person_sees_the_url_that_a_task_matches(setup: Setup) {
        let site = Site::with(setup).await;
        let plain = site.upstream.url("/things/*");
        let with_url = |url: String| {
            let mut one = action(&site, "POST", "/", 1);
            one["url"] = json!(url);
            json!([one])
        };
        let port = format!(":{}/", site.upstream.addr().port());
        let padded = plain.replace(&port, &port.replace(':', ":0"));
        let task = propose(&site.agent, &with_url(padded), 60).await;
        assert_eq!(get_task(&site, &task).await["actions"][0]["url"], plain);
        for hidden in ["/%74hings/*", "/things;x/*", "/%2574hings/*"] {
            let actions = with_url(site.upstream.url(hidden));
            let refused = propose_with_purpose(&site, "Use it", &actions).await.problem(422, "invalid_field");
            assert_eq!(refused["field"], "actions[0].url");
            assert!(refused["detail"].as_str().unwrap().contains(&plain), "{hidden}: {refused}");
        }
    }
}
