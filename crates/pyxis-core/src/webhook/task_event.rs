//! Events about tasks.

use serde::Serialize;

use super::WebhookEvent;
use crate::clock::UnixMillis;
use crate::id::TaskId;

/// Data of `task.proposed` and `task.decided`.
#[derive(Clone, Debug)]
pub struct TaskEvent<'a> {
    pub task: TaskId,
    /// Agent that proposed it.
    pub agent_name: &'a str,
    /// The agent's words.
    pub purpose: &'a str,
    /// Requests that it allows; after an approval, those that remain.
    pub actions: Vec<TaskEventAction<'a>>,
    /// Page where a person decides.
    pub task_url: &'a str,
    /// End of the time to decide. Once approved, the end of the task.
    pub expires_at: UnixMillis,
    /// The decision, once there is one.
    pub decision: Option<TaskOutcome<'a>>,
}

/// Requests of a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskEventAction<'a> {
    pub credential_name: &'a str,
    /// HTTP method.
    pub method: &'a str,
    /// Host of the URLs, without a path.
    pub target_host: String,
    /// Maximum number of requests.
    pub max_uses: i64,
}

/// Decision on a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskOutcome<'a> {
    /// `approved`, `denied` or `withdrawn`.
    pub state: &'a str,
    /// Email address of the person; `None` for a withdrawn task.
    pub approver: Option<&'a str>,
    /// Reason of a denial, or of a withdrawal that was not the agent's own.
    pub reason: Option<&'a str>,
}

#[derive(Serialize)]
struct TaskBody<'a> {
    event: WebhookEvent,
    task_id: TaskId,
    agent_name: &'a str,
    purpose: &'a str,
    actions: &'a [TaskEventAction<'a>],
    task_url: &'a str,
    expires_at: String,
    #[serde(flatten)]
    decision: Option<TaskOutcomeBody<'a>>,
}

#[derive(Serialize)]
struct TaskOutcomeBody<'a> {
    outcome: &'a str,
    approver: Option<&'a str>,
    reason: Option<&'a str>,
}

impl TaskEvent<'_> {
    /// The event's type.
    pub const fn event(&self) -> WebhookEvent {
        if self.decision.is_some() { WebhookEvent::TaskDecided } else { WebhookEvent::TaskProposed }
    }

    /// The JSON body. Contains no path, condition or secret.
    ///
    /// # Panics
    /// Never: text and numbers serialize.
    pub fn to_json(&self) -> Vec<u8> {
        let body = TaskBody {
            event: self.event(),
            task_id: self.task,
            agent_name: self.agent_name,
            purpose: self.purpose,
            actions: &self.actions,
            task_url: self.task_url,
            expires_at: self.expires_at.to_rfc3339(),
            decision: self.decision.map(|decision| TaskOutcomeBody {
                outcome: decision.state,
                approver: decision.approver,
                reason: decision.reason,
            }),
        };
        serde_json::to_vec(&body).expect("text and numbers serialize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_told_with_exactly_its_fields() {
        let proposed = TaskEvent {
            task: "0190a2b4-7c00-7000-8000-000000000001".parse().unwrap(),
            agent_name: "bot",
            purpose: "Close the stale issues",
            actions: vec![TaskEventAction {
                credential_name: "github",
                method: "PATCH",
                target_host: "api.github.com".to_owned(),
                max_uses: 20,
            }],
            task_url: "https://px.example/app/tasks/0190",
            expires_at: UnixMillis(1_767_225_600_000),
            decision: None,
        };
        let members = r#""task_id":"0190a2b4-7c00-7000-8000-000000000001","agent_name":"bot","purpose":"Close the stale issues","actions":[{"credential_name":"github","method":"PATCH","target_host":"api.github.com","max_uses":20}],"task_url":"https://px.example/app/tasks/0190","expires_at":"2026-01-01T00:00:00.000Z""#;
        let text = |event: &TaskEvent<'_>| String::from_utf8(event.to_json()).unwrap();
        assert_eq!(text(&proposed), format!(r#"{{"event":"task.proposed",{members}}}"#));
        let outcome =
            TaskOutcome { state: "denied", approver: Some("ada@example.com"), reason: Some("One by one") };
        let decided = TaskEvent { decision: Some(outcome), ..proposed.clone() };
        let more = r#""outcome":"denied","approver":"ada@example.com","reason":"One by one""#;
        assert_eq!(text(&decided), format!(r#"{{"event":"task.decided",{members},{more}}}"#));
        let outcome = TaskOutcome { state: "withdrawn", approver: None, reason: Some("agent removed") };
        let withdrawn = TaskEvent { decision: Some(outcome), ..proposed };
        let more = r#""outcome":"withdrawn","approver":null,"reason":"agent removed""#;
        assert_eq!(text(&withdrawn), format!(r#"{{"event":"task.decided",{members},{more}}}"#));
    }
}
