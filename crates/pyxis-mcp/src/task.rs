//! Transactions as tasks (extension `io.modelcontextprotocol/tasks`). The id of a task is that of its transaction.

use pyxis_gateway as gateway;
use rmcp::model::{CallToolResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::answer::{Answer, PendingApproval};

/// Pause between two looks at a task, in milliseconds.
const POLL_INTERVAL: u64 = 2000;

/// The task of a transaction that is not settled.
pub(crate) fn of(gateway: &gateway::State, waiting: &PendingApproval) -> Task {
    let now = gateway.now().to_rfc3339();
    let created = waiting.created_at.clone().unwrap_or_else(|| now.clone());
    let said = if waiting.status == "approved" {
        "Approved and being sent.".to_owned()
    } else {
        format!("A person must approve this request: {}", waiting.page(gateway))
    };
    Task::new(&waiting.txn_id, TaskStatus::Working, created, now)
        .with_status_message(said)
        .with_poll_interval_ms(POLL_INTERVAL)
}

/// The present state of the task with this id.
pub(crate) fn detailed(gateway: &gateway::State, txn_id: &str, answer: Answer) -> DetailedTask {
    match answer {
        Answer::Pending(waiting) => DetailedTask::new(of(gateway, &waiting), TaskPayload::Working),
        Answer::Final(result) => {
            let now = gateway.now().to_rfc3339();
            let task = Task::new(txn_id, TaskStatus::Completed, now.clone(), now);
            DetailedTask::new(task, TaskPayload::Completed { result: object(&result) })
        }
    }
}

fn object(result: &CallToolResult) -> JsonObject {
    match serde_json::to_value(result) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}
