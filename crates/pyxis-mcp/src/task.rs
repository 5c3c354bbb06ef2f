//! Transactions as tasks (extension `io.modelcontextprotocol/tasks`). The id of a task is that of its transaction.

use pyxis_core::clock::UnixMillis;
use pyxis_gateway::Config;
use pyxis_gateway::approvals::delivery::TransactionTimes;
use rmcp::model::{CallToolResult, DetailedTask, JsonObject, Task, TaskPayload, TaskStatus};
use serde_json::Value;

use crate::answer::{PendingApproval, ProxyResponse};

/// Pause between two looks at a task, in milliseconds.
const POLL_INTERVAL: u64 = 2000;

/// The task of a transaction that is not settled. Its last change is the decision, or else its creation.
pub(crate) fn from_pending(
    config: &Config,
    now: UnixMillis,
    waiting: &PendingApproval,
    times: Option<TransactionTimes>,
) -> Task {
    let created = times.map_or(now, |times| times.created_at);
    let changed = times.and_then(|times| times.ended_at).unwrap_or(created);
    let said = if waiting.status == "approved" {
        "Approved and being sent.".to_owned()
    } else {
        // A space ends the URL; a period would become part of it.
        format!(
            "A person must approve this request: {}{}",
            waiting.page(config),
            waiting.announcements.in_words()
        )
    };
    Task::new(&waiting.txn_id, TaskStatus::Working, created.to_rfc3339(), changed.to_rfc3339())
        .with_status_message(said)
        .with_poll_interval_ms(POLL_INTERVAL)
}

/// The present state of the task with this id. A withdrawn request is a canceled task. Every other end has a result: one
/// that a person denied, that expired, or whose target failed, is completed with an error for the model.
pub(crate) fn detailed(
    config: &Config,
    now: UnixMillis,
    txn_id: &str,
    answer: ProxyResponse,
    times: Option<TransactionTimes>,
) -> DetailedTask {
    let result = match answer {
        ProxyResponse::Pending(waiting) => {
            return DetailedTask::new(from_pending(config, now, &waiting, times), TaskPayload::Working);
        }
        ProxyResponse::Final(result) => result,
    };
    let (created, ended) =
        times.map_or((now, now), |times| (times.created_at, times.ended_at.unwrap_or(now)));
    let task = Task::new(txn_id, TaskStatus::Completed, created.to_rfc3339(), ended.to_rfc3339());
    if times.is_some_and(|times| times.withdrawn) {
        let task = task.with_status_message("Withdrawn. Nothing was sent.");
        return DetailedTask::new(task, TaskPayload::Cancelled);
    }
    DetailedTask::new(task, TaskPayload::Completed { result: object(&result) })
}

fn object(result: &CallToolResult) -> JsonObject {
    match serde_json::to_value(result) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}
