//! `pyxis task`: tasks that agents propose.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_core::id::TaskId;
use serde_json::{Map, Value, json};

use super::view::{short, times};
use crate::cli::{ApproveTask, KeptAction, TaskCommand};
use crate::commands::confirm::confirm;
use crate::commands::out;
use crate::commands::person_api::{PersonApi, UnknownItem};
use crate::config::Config;

/// Tasks in one answer.
const PAGE: usize = 500;

/// Runs a command about one task.
pub(super) async fn run(config: &Config, as_json: bool, command: TaskCommand) -> Result<()> {
    match command {
        TaskCommand::List { state, person } => {
            let tasks = all(&PersonApi::new(config, &person)?, state.as_deref()).await?;
            print_list(as_json, &tasks, SystemClock.now());
        }
        TaskCommand::Show { task, person } => {
            let (api, id) = (PersonApi::new(config, &person)?, parse(&task)?);
            let shown = find(&api, &id).await?;
            out::outcome(as_json, &shown, text(&shown, SystemClock.now()));
        }
        TaskCommand::Approve(options) => approve(config, as_json, options).await?,
        TaskCommand::Deny { task, reason, person } => {
            let (api, id) = (PersonApi::new(config, &person)?, parse(&task)?);
            let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
            let denied = send(&api, &id, "deny", &body).await?;
            out::outcome(as_json, &denied, format_args!("denied {id}"));
        }
        TaskCommand::Stop { task, person } => {
            let (api, id) = (PersonApi::new(config, &person)?, parse(&task)?);
            let stopped = send(&api, &id, "stop", &json!({})).await?;
            out::outcome(as_json, &stopped, format_args!("stopped {id}"));
        }
    }
    Ok(())
}

/// Approves a task after showing it.
async fn approve(config: &Config, as_json: bool, options: ApproveTask) -> Result<()> {
    let ApproveTask { task, keep, minutes, confirmation, person } = options;
    let (api, id) = (PersonApi::new(config, &person)?, parse(&task)?);
    let shown = find(&api, &id).await?;
    match shown["state"].as_str() {
        Some("proposed") => {}
        Some(state) => bail!("the task {id} is {state}; only a proposed one can be approved"),
        None => bail!("the server's answer has no state"),
    }
    let mut body = Map::new();
    if !keep.is_empty() {
        body.insert("actions".to_owned(), remaining(&shown, &keep)?);
    }
    if let Some(minutes) = minutes {
        body.insert("minutes".to_owned(), minutes.into());
    }
    // Standard output is for the result.
    out::notice(text(&shown, SystemClock.now()));
    if let Some(actions) = body.get("actions").and_then(Value::as_array) {
        let kept =
            actions.iter().map(|action| format!("{} ({} uses)", action["position"], action["max_uses"]));
        let kept: Vec<String> = kept.collect();
        out::notice(format_args!("keep        {}", kept.join(", ")));
    }
    if let Some(minutes) = minutes {
        out::notice(format_args!("minutes     {minutes}"));
    }
    confirm(confirmation, "approve this task")?;
    let approved = send(&api, &id, "approve", &Value::Object(body)).await?;
    let until = approved["expires_at"].as_str().unwrap_or_default();
    out::outcome(as_json, &approved, format_args!("approved {id} until {until}"));
    Ok(())
}

/// The actions that remain, each with its uses.
fn remaining(task: &Value, keep: &[KeptAction]) -> Result<Value> {
    let actions = task["actions"].as_array().context("the server's answer has no list of actions")?;
    let with_uses = |kept: &KeptAction| -> Result<Value> {
        let proposed = actions.iter().find(|action| action["position"] == kept.position);
        let proposed = proposed.with_context(|| format!("the task has no action {}", kept.position))?;
        let uses = kept.uses.map_or_else(|| proposed["proposed_uses"].clone(), Value::from);
        Ok(json!({ "position": kept.position, "max_uses": uses }))
    };
    keep.iter().map(with_uses).collect::<Result<Vec<_>>>().map(Value::Array)
}

/// Every proposed task that the person may decide, newest first.
pub(super) async fn all_proposed(api: &PersonApi) -> Result<Vec<Value>> {
    all(api, Some("proposed")).await
}

/// Every task in a state, or in any, that the person may decide, newest first.
async fn all(api: &PersonApi, state: Option<&str>) -> Result<Vec<Value>> {
    let mut tasks = Vec::new();
    let state = state.map(|state| format!("state={state}&")).unwrap_or_default();
    let first = format!("/tasks?{state}limit={PAGE}");
    let mut path = first.clone();
    loop {
        let answer = match api.get(&path).await {
            // A server of an earlier version has no tasks.
            Err(error) if path == first && error.downcast_ref::<UnknownItem>().is_some() => {
                return Ok(tasks);
            }
            answer => answer?,
        };
        let page = answer["tasks"].as_array().context("the server's answer has no list of tasks")?;
        tasks.extend(page.iter().cloned());
        let Some(next) = answer["next_before"].as_str() else { return Ok(tasks) };
        path = format!("{first}&before={next}");
    }
}

/// Prints tasks of any state.
fn print_list(as_json: bool, tasks: &[Value], now: UnixMillis) {
    if as_json {
        return out::json(&Value::from(tasks.to_vec()));
    }
    let line = |task: &Value| {
        let mut line = row(task, now);
        line["state"] = task["state"].clone();
        if !matches!(task["state"].as_str(), Some("proposed" | "approved")) {
            line["time_left"] = Value::Null;
        }
        line
    };
    let rows: Vec<Value> = tasks.iter().map(line).collect();
    out::list(false, "tasks", &["task", "state", "agent", "purpose", "actions", "age", "time_left"], &rows);
}

/// Prints proposed tasks.
pub(super) fn list(proposed: &[Value], now: UnixMillis) {
    let rows: Vec<Value> = proposed.iter().map(|task| row(task, now)).collect();
    let columns = ["task", "agent", "purpose", "actions", "age", "time_left"];
    out::list(false, "proposed tasks", &columns, &rows);
}

fn row(task: &Value, now: UnixMillis) -> Value {
    let (age, left) = times(task, now);
    json!({
        "task": task["task_id"],
        "agent": task["agent_name"],
        "purpose": task["purpose"],
        "actions": task["actions"].as_array().map(Vec::len),
        "age": age.map(short),
        "time_left": left.map(short),
    })
}

/// A task as text for a terminal.
fn text(task: &Value, now: UnixMillis) -> String {
    let mut text = String::new();
    let mut field = |label: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{label:<12}{}", out::on_one_line(value));
    };
    let member = |name: &str| task[name].as_str().unwrap_or_default();
    field("task", member("task_id"));
    field("state", member("state"));
    field("agent", member("agent_name"));
    field("purpose", member("purpose"));
    field("length", &format!("{} minutes, as proposed", task["minutes"]));
    if let Some(by) = task["decided_by"].as_str() {
        field("decided by", by);
    }
    if let Some(by) = task["stopped_by"].as_str() {
        field("stopped by", by);
    } else if let Some(reason) = task["reason"].as_str() {
        field("reason", reason);
    }
    if let (_, Some(left)) = times(task, now)
        && matches!(member("state"), "proposed" | "approved")
    {
        field("time left", &short(left));
    }
    for action in task["actions"].as_array().into_iter().flatten() {
        let part = |name: &str| action[name].as_str().unwrap_or_default();
        let place = format!("{} {} with {}", part("method"), part("url"), part("credential"));
        let (uses, most) = (&action["uses"], action["max_uses"].as_i64().unwrap_or_default());
        let progress = if most == 0 { "removed".to_owned() } else { format!("{uses} of {most} used") };
        field(&format!("action {}", action["position"]), &format!("{place}; {progress}"));
        for condition in action["content"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            field("", &format!("only with {condition}"));
        }
    }
    text.trim_end().to_owned()
}

/// The id in an argument, which may be the link of the task's page.
fn parse(text: &str) -> Result<TaskId> {
    let path = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let id = path.rsplit('/').next().unwrap_or_default();
    id.parse().ok().with_context(|| format!("{text} is not a task id; `pyxis inbox` shows the ids"))
}

async fn find(api: &PersonApi, id: &TaskId) -> Result<Value> {
    known(api.get(&format!("/tasks/{id}")).await, id)
}

async fn send(api: &PersonApi, id: &TaskId, verb: &str, body: &Value) -> Result<Value> {
    known(api.post(&format!("/tasks/{id}/{verb}"), body).await, id)
}

/// Says where ids come from if this one is unknown.
fn known(answer: Result<Value>, id: &TaskId) -> Result<Value> {
    answer.map_err(|error| match error.downcast_ref::<UnknownItem>() {
        Some(_) => anyhow::anyhow!("there is no task {id} here; `pyxis inbox` shows proposed tasks"),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed() -> Value {
        json!({
            "task_id": "0190a2b4-7c00-7000-8000-000000000001", "state": "proposed", "agent_name": "bot",
            "purpose": "pay\nthe \u{1b}[2Jbills", "minutes": 60, "decided_by": null, "stopped_by": null, "reason": null,
            "actions": [
                {"position": 1, "credential": "bank", "method": "POST", "url": "https://api.example.com/pay",
                 "content": ["json /amount <= 5"], "proposed_uses": 10, "max_uses": 10, "uses": 0},
                {"position": 2, "credential": "bank", "method": "GET", "url": "https://api.example.com/",
                 "content": [], "proposed_uses": 3, "max_uses": 0, "uses": 0},
            ],
            "created_at": "2026-01-31T09:00:00Z", "expires_at": "2026-01-31T10:30:00Z",
        })
    }

    #[test]
    fn a_task_is_shown_with_its_conditions_and_without_characters_that_a_terminal_acts_on() {
        let shown = text(&proposed(), UnixMillis::parse_rfc3339("2026-01-31T09:05:00Z").unwrap());
        assert!(!shown.contains('\u{1b}'), "{shown}");
        for line in [
            "agent       bot",
            "length      60 minutes, as proposed",
            "time left   1h 25m",
            "action 1    POST https://api.example.com/pay with bank; 0 of 10 used",
            "            only with json /amount <= 5",
            "action 2    GET https://api.example.com/ with bank; removed",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
        }
    }

    #[test]
    fn a_kept_action_has_its_proposed_uses_unless_fewer_are_given() {
        let keep = |position, uses| KeptAction { position, uses };
        let kept = remaining(&proposed(), &[keep(1, None), keep(2, Some(1))]).unwrap();
        assert_eq!(kept, json!([{"position": 1, "max_uses": 10}, {"position": 2, "max_uses": 1}]));
        assert!(remaining(&proposed(), &[keep(3, None)]).unwrap_err().to_string().contains("no action 3"));
    }

    #[test]
    fn a_task_is_named_by_its_id_or_its_link() {
        let id = "0190a2b4-7c00-7000-8000-000000000001";
        for text in [id.to_owned(), format!("https://pyxis.example/app/tasks/{id}?x=1")] {
            assert_eq!(parse(&text).unwrap().to_string(), id, "{text}");
        }
        assert!(parse("nonsense").unwrap_err().to_string().contains("pyxis inbox"));
    }
}
