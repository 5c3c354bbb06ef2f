//! Proposed tasks as tool results. They are unrelated to the protocol's own tasks, each of which is one call.

use std::fmt::Write;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::announcements::Announcements;

/// Result with the state of a proposed task, and what to do next.
pub(crate) fn result(mut task: Value) -> CallToolResult {
    let said = text(&task);
    if task["state"] == "proposed" {
        // Also in the data: some programs show a model nothing else.
        task["next"] = json!(said);
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(said)]);
    result.structured_content = Some(task);
    result
}

fn text(task: &Value) -> String {
    let member = |name: &str| task[name].as_str().unwrap_or_default();
    match member("state") {
        "proposed" => format!(
            "A person must approve this task. Show your user this page: {}\nThen call `wait` with txn_id {}. Until it is \
             approved, each request needs its own approval. The proposal expires at {}.{}",
            member("page"),
            member("task_id"),
            member("expires_at"),
            Announcements::read(task).in_words(),
        ),
        "approved" => format!(
            "Approved until {}. These requests need no further approval:{}",
            member("expires_at"),
            approved(task)
        ),
        "denied" => format!("A person denied the task. {}", member("reason")),
        state => format!("The task is {state}. {}", member("reason")),
    }
}

/// The approved actions, one per line.
fn approved(task: &Value) -> String {
    let mut lines = String::new();
    for action in task["actions"].as_array().into_iter().flatten() {
        let (most, uses) = (action["max_uses"].as_i64().unwrap_or(0), action["uses"].as_i64().unwrap_or(0));
        if most > 0 {
            let member = |name: &str| action[name].as_str().unwrap_or_default();
            let (method, url, credential) = (member("method"), member("url"), member("credential"));
            // Writing to a String does not fail.
            let _ = write!(lines, "\n- {method} {url} with `{credential}`: {} of {most} left", most - uses);
            let conditions = action["content"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let conditions: Vec<String> = conditions.map(|text| format!("`{text}`")).collect();
            if !conditions.is_empty() {
                let _ = write!(lines, ", only with {}", conditions.join(" and "));
            }
        }
    }
    lines
}
