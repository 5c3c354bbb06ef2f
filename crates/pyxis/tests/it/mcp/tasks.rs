//! Pending calls as tasks (extension `io.modelcontextprotocol/tasks`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::approvals::impatient;
use super::client::{Mcp, message_of};
use crate::support::{Setup, Site};

/// A client that declares the extension.
fn with_tasks(site: &Site) -> Mcp {
    Mcp::new(site).able(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}))
}

/// Parameters that name a task.
fn id(task: &Value) -> Value {
    json!({"taskId": task["taskId"]})
}

engines! {
    async fn a_task_survives_a_restart_between_question_and_answer(setup: Setup) {
        let mut site = impatient(setup).await;
        let mcp = with_tasks(&site);
        let task = mcp.forward(&site, "POST", "/things").await;
        let txn = task["taskId"].as_str().unwrap();
        site.app.kill().await;
        site.app.serve();
        let working = mcp.result("tasks/get", &id(&task)).await;
        assert_eq!((&working["status"], &working["createdAt"]), (&json!("working"), &task["createdAt"]), "{working}");
        site.owner.approve(txn).await;
        site.agent.outcome(txn).await;
        let done = mcp.result("tasks/get", &id(&task)).await;
        assert_eq!(
            (&done["status"], &done["result"]["structuredContent"]["status"]),
            (&json!("completed"), &json!(200)),
            "{done}"
        );
        assert_eq!(site.upstream.requests().len(), 1);
    }

    async fn a_canceled_task_is_withdrawn_and_stays_canceled(setup: Setup) {
        let site = impatient(setup).await;
        let mcp = with_tasks(&site);
        let task = mcp.forward(&site, "POST", "/things").await;
        // The second time it has ended already.
        for _ in 0..2 {
            assert_eq!(mcp.result("tasks/cancel", &id(&task)).await, json!({"resultType": "complete"}));
            let state = mcp.result("tasks/get", &id(&task)).await;
            assert_eq!((&state["status"], &state["createdAt"]), (&json!("cancelled"), &task["createdAt"]), "{state}");
            assert!(state["result"].is_null() && state["error"].is_null(), "{state}");
        }
        assert_eq!(site.agent.poll(task["taskId"].as_str().unwrap()).await["status"], "expired");
        let next = mcp.forward(&site, "POST", "/things").await;
        assert_eq!(next["status"], "working", "{next}");
        assert_ne!(next["taskId"], task["taskId"]);
        assert_eq!(site.upstream.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_client_with_tasks_gets_the_transaction_as_a_task() {
    let site = impatient(Setup::new()).await;
    let mcp = with_tasks(&site);
    let task = mcp.forward(&site, "POST", "/things").await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    assert!(task["statusMessage"].as_str().unwrap().contains("/approve/"), "{task}");
    let id = id(&task);
    let working = mcp.result("tasks/get", &id).await;
    assert_eq!((&working["status"], &working["createdAt"]), (&json!("working"), &task["createdAt"]));
    assert_eq!(working["lastUpdatedAt"], task["createdAt"], "nothing changed since: {working}");
    let txn = task["taskId"].as_str().unwrap();
    site.owner.approve(txn).await;
    site.agent.outcome(txn).await;
    let done = mcp.result("tasks/get", &id).await;
    assert_eq!(
        (&done["status"], &done["result"]["structuredContent"]["status"]),
        (&json!("completed"), &json!(200)),
        "{done}"
    );
    assert_eq!(done["createdAt"], task["createdAt"]);
    let next = mcp.forward(&site, "POST", "/things").await;
    assert_ne!(next["taskId"], task["taskId"], "what a task delivered is not delivered again");
}

#[tokio::test]
async fn a_denied_task_is_complete_with_an_error_and_a_cancel_does_not_change_it() {
    let site = impatient(Setup::new()).await;
    let mcp = with_tasks(&site);
    let task = mcp.forward(&site, "POST", "/things").await;
    site.owner.deny(task["taskId"].as_str().unwrap(), "not today").await;
    for _ in 0..2 {
        let state = mcp.result("tasks/get", &id(&task)).await;
        assert_eq!(state["status"], "completed", "{state}");
        let result = &state["result"];
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["code"]),
            (&json!(true), &json!("approval_denied"))
        );
        mcp.result("tasks/cancel", &id(&task)).await;
    }
}

#[tokio::test]
async fn an_expired_task_is_complete_with_an_error() {
    let site = impatient(Setup::new().env("PX_APPROVAL_TIMEOUT_SECS", "1")).await;
    let mcp = with_tasks(&site);
    let task = mcp.forward(&site, "POST", "/things").await;
    site.agent.outcome(task["taskId"].as_str().unwrap()).await;
    let state = mcp.result("tasks/get", &id(&task)).await;
    let result = &state["result"];
    assert_eq!((&state["status"], &result["isError"]), (&json!("completed"), &json!(true)), "{state}");
    assert_eq!(result["structuredContent"]["code"], "approval_expired", "{state}");
}

#[tokio::test]
async fn the_tasks_of_another_agent_are_unknown_and_go_on() {
    let site = impatient(Setup::new()).await;
    let mcp = with_tasks(&site);
    let task = mcp.forward(&site, "POST", "/things").await;
    let added = site.owner.add_agent(&json!({"name": "second"})).await;
    let stranger = Mcp::for_key(&site.app, added["key"].as_str().unwrap())
        .able(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    for (mcp, task) in [(&stranger, id(&task)), (&mcp, json!({"taskId": "nothing"}))] {
        let mut update = task.clone();
        update["inputResponses"] = json!({});
        for (method, params) in [("tasks/get", &task), ("tasks/cancel", &task), ("tasks/update", &update)] {
            let refused = message_of(&mcp.request(method, params).send().await);
            assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
            assert!(refused["error"]["message"].as_str().unwrap().starts_with("unknown task: "), "{refused}");
        }
    }
    assert_eq!(mcp.result("tasks/get", &id(&task)).await["status"], "working");
}
