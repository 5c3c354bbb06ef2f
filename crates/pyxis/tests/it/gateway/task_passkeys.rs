//! Tasks whose credentials require a passkey, at the API. The ceremony is on the page of the task.
//! `docs/reference/behavior/proxy.md#tasks`.

use pyxis_testkit::engines;
use serde_json::json;

use super::tasks::{action, approved, get_task, passes, post_task, propose};
use crate::support::{Setup, Site};

engines! {
    async fn a_task_that_needs_a_passkey_is_refused_with_its_page_as_a_grant_is(setup: Setup) {
        let site = Site::with(setup).await;
        site.credential("other", &json!({"auth": {"kind": "bearer"}, "secret": "other-canary"})).await;
        site.policy(&json!({"passkey_required": true})).await;
        let mut other = action(&site, "POST", "/other", 1);
        other["credential"] = json!("other");
        let task = propose(&site.agent, &json!([action(&site, "POST", "/things", 5), other]), 60).await;
        let refused = post_task(&site.owner, &task, "approve", &json!({})).await;
        let page = get_task(&site, &task).await["page"].as_str().expect("a page").to_owned();
        assert!(page.ends_with(&format!("/app/tasks/{task}")), "{page}");
        assert_eq!(refused.header("location"), Some(page.as_str()));
        assert_eq!(refused.problem(412, "passkey_required")["url"], page);
        assert_eq!(get_task(&site, &task).await["state"], "proposed");
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        // A grant of the same credential is refused in the same way.
        let txn = site.pause("/things").await;
        let grant = json!({"grant_seconds": 1800});
        site.owner.decide(&txn, "approve", &grant).await.problem(412, "passkey_required");
        site.owner.deny(&txn, "no").await;
        // Without the action that needs one, no passkey is asked for. A denial needs none either.
        let part = json!({"actions": [{"position": 2, "max_uses": 1}]});
        post_task(&site.owner, &task, "approve", &part).await.expect(200);
        let task = propose(&site.agent, &json!([action(&site, "POST", "/things", 5)]), 60).await;
        post_task(&site.owner, &task, "deny", &json!({})).await.expect(200);
    }

    async fn a_task_that_no_passkey_confirmed_covers_nothing_once_one_is_required(setup: Setup) {
        let site = Site::with(setup).await;
        let task = approved(&site, "POST", "/things", 5).await;
        site.policy(&json!({"passkey_required": true})).await;
        assert_eq!(get_task(&site, &task).await["state"], "stopped");
        // Even if it had not been stopped.
        site.app.sql("UPDATE tasks SET state = 'approved'");
        assert!(!passes(&site, &site.agent, "POST", "/things").await);
        site.app.sql("UPDATE tasks SET passkey = 'laptop'");
        assert!(passes(&site, &site.agent, "POST", "/things").await);
        site.policy(&json!({"passkey_required": true, "require_approval_urls": ["/things"]})).await;
        site.app.sql("UPDATE tasks SET state = 'approved'");
        assert!(!passes(&site, &site.agent, "POST", "/things").await, "a passkey widens no policy");
    }

    async fn several_approvers_keep_a_credential_out_of_tasks_and_grants(setup: Setup) {
        let site = Site::with(setup).await;
        site.app.admin("bo@people.example").await;
        let task = propose(&site.agent, &json!([action(&site, "POST", "/things", 5)]), 60).await;
        site.policy(&json!({"min_approvals": 2})).await;
        post_task(&site.owner, &task, "approve", &json!({})).await.problem(422, "invalid_field");
        let txn = site.pause("/things").await;
        let grant = json!({"grant_seconds": 1800});
        site.owner.decide(&txn, "approve", &grant).await.problem(422, "invalid_field");
    }
}
