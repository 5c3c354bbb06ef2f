//! A task in a response.

use pyxis_core::clock::UnixMillis;
use pyxis_core::task::TaskState;
use pyxis_http::admin::{Listed, Paged};
use pyxis_http::openapi::{Id, Time, text_enum};
use pyxis_store::tasks::{TaskActionRow, TaskRow};
use serde::Serialize;
use utoipa::ToSchema;

use super::view::TaskView;
use crate::approvals::announcement_record::AnonymousAnnouncement;
use crate::config::Config;
use crate::values::ForwardMethod;

pyxis_http::value_schemas! {
    /// `proposed`: pending. `approved`: running. `stopped`: ended early by a person, or by a change of policy, secret
    /// or agent. `ended`: out of time, or used up.
    pub(crate) TaskStateName = text_enum(TaskState::ALL.iter().map(|state| state.as_str()));
}

/// State and actions of a task.
#[derive(Serialize, ToSchema)]
struct TaskFields {
    #[schema(value_type = Id)]
    task_id: String,
    #[schema(value_type = TaskStateName)]
    state: &'static str,
    /// Page where a person decides, and sees the uses.
    #[schema(
        format = "uri",
        example = "https://pyxis.example.org/app/tasks/019c1234-5678-7abc-8def-0123456789ab"
    )]
    page: String,
    actions: Vec<TaskActionResponse>,
    /// Proposed length from the approval, in minutes.
    #[schema(minimum = 1, maximum = 1440, example = 60)]
    minutes: i64,
    #[schema(value_type = Time)]
    created_at: String,
    /// End of the time to decide. Once approved, the end of the task.
    #[schema(value_type = Time)]
    expires_at: String,
    #[schema(value_type = Option<Time>, required)]
    decided_at: Option<String>,
    /// Reason of a denial or of an early end.
    #[schema(required, example = json!(null))]
    reason: Option<String>,
    /// Time of an early end.
    #[schema(value_type = Option<Time>, required)]
    ended_at: Option<String>,
}

/// A task as the agent that proposed it sees it. It says nothing about who decided.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentTask, example = json!({
    "task_id": "019c1234-5678-7abc-8def-0123456789ab",
    "state": "approved",
    "page": "https://pyxis.example.org/app/tasks/019c1234-5678-7abc-8def-0123456789ab",
    "actions": [{
        "position": 1, "credential": "github", "method": "PATCH",
        "url": "https://api.github.com/repos/example/site/issues/*", "content": ["json /state = \"closed\""],
        "proposed_uses": 20, "max_uses": 20, "uses": 3, "last_used_at": "2026-01-31T09:20:00.500Z"
    }],
    "minutes": 60,
    "created_at": "2026-01-31T09:05:00.250Z",
    "expires_at": "2026-01-31T10:07:30.125Z",
    "decided_at": "2026-01-31T09:07:30.125Z",
    "reason": null,
    "ended_at": null,
    "asked": [{"channel": "slack", "kind": "room", "at": "2026-01-31T09:05:00.600Z"}]
}))]
pub(super) struct AgentTaskResponse {
    #[serde(flatten)]
    task: TaskFields,
    /// Announcements to rooms and people, oldest first, without saying which.
    asked: Vec<AnonymousAnnouncement>,
}

/// A task as people see it.
#[derive(Serialize, ToSchema)]
#[schema(as = Task, example = json!({
    "task_id": "019c1234-5678-7abc-8def-0123456789ab",
    "state": "approved",
    "page": "https://pyxis.example.org/app/tasks/019c1234-5678-7abc-8def-0123456789ab",
    "actions": [{
        "position": 1, "credential": "github", "method": "PATCH",
        "url": "https://api.github.com/repos/example/site/issues/*", "content": ["json /state = \"closed\""],
        "proposed_uses": 20, "max_uses": 20, "uses": 3, "last_used_at": "2026-01-31T09:20:00.500Z"
    }],
    "minutes": 60,
    "created_at": "2026-01-31T09:05:00.250Z",
    "expires_at": "2026-01-31T10:07:30.125Z",
    "decided_at": "2026-01-31T09:07:30.125Z",
    "reason": null,
    "ended_at": null,
    "agent_name": "default-agent",
    "purpose": "Close the stale issues of example/site",
    "decided_by": "ada@example.org",
    "stopped_by": null
}))]
pub(crate) struct TaskResponse {
    #[serde(flatten)]
    task: TaskFields,
    /// Name of the agent that proposed the task. No other agent can use it.
    #[schema(example = "default-agent")]
    agent_name: String,
    /// Purpose in the agent's words, without stored secrets.
    #[schema(example = "Close the stale issues of example/site")]
    purpose: String,
    /// Email address of the person who decided.
    #[schema(required, example = "ada@example.org")]
    decided_by: Option<String>,
    /// Email address of the person who stopped the task.
    #[schema(required, example = json!(null))]
    stopped_by: Option<String>,
}

/// An action of a task.
#[derive(Serialize, ToSchema)]
#[schema(as = TaskAction)]
struct TaskActionResponse {
    /// Position in the proposal, from 1.
    #[schema(minimum = 1, example = 1)]
    position: i64,
    /// Name of the credential.
    #[schema(example = "github")]
    credential: String,
    #[schema(value_type = ForwardMethod)]
    method: String,
    /// URL pattern.
    #[schema(example = "https://api.github.com/repos/example/site/issues/*")]
    url: String,
    /// Conditions that the content of each request meets.
    #[schema(max_items = 8, example = json!(["json /state = \"closed\""]))]
    content: Vec<String>,
    /// Maximum number of requests as proposed.
    #[schema(minimum = 1, example = 20)]
    proposed_uses: i64,
    /// Maximum number of requests as approved; 0 if the person removed the action.
    #[schema(minimum = 0, example = 20)]
    max_uses: i64,
    /// Number of requests so far.
    #[schema(minimum = 0, example = 3)]
    uses: i64,
    #[schema(value_type = Option<Time>, required)]
    last_used_at: Option<String>,
}

impl From<TaskActionRow> for TaskActionResponse {
    fn from(row: TaskActionRow) -> Self {
        // A view has only actions whose conditions can be read.
        let content = row.shown_conditions().unwrap_or_default();
        Self {
            position: row.position,
            credential: row.credential_name,
            method: row.method.to_string(),
            url: row.shown_url.unwrap_or(row.url),
            content,
            proposed_uses: row.proposed_uses,
            max_uses: row.max_uses,
            uses: row.uses,
            last_used_at: row.last_used_at.map(UnixMillis::to_rfc3339),
        }
    }
}

impl AgentTaskResponse {
    pub(super) fn new(config: &Config, task: TaskView, asked: Vec<AnonymousAnnouncement>) -> Self {
        let TaskView { row, actions, state } = task;
        // The agent gets its own URLs and conditions back. A redacted one would tell it that a guess of a secret is right.
        let own = |action| TaskActionRow { shown_url: None, shown_content: None, ..action };
        Self { task: TaskFields::new(config, &row, state, actions.into_iter().map(own)), asked }
    }
}

impl TaskFields {
    fn new(
        config: &Config,
        row: &TaskRow,
        state: TaskState,
        actions: impl Iterator<Item = TaskActionRow>,
    ) -> Self {
        Self {
            task_id: row.id.to_string(),
            state: state.as_str(),
            page: format!("{}/app/tasks/{}", config.base_url, row.id),
            actions: actions.map(TaskActionResponse::from).collect(),
            minutes: row.minutes,
            created_at: row.created_at.to_rfc3339(),
            expires_at: row.expires_at.to_rfc3339(),
            decided_at: row.decided_at.map(UnixMillis::to_rfc3339),
            reason: row.reason.clone(),
            ended_at: row.ended_at.map(UnixMillis::to_rfc3339),
        }
    }
}

impl TaskResponse {
    pub(crate) fn new(config: &Config, task: TaskView) -> Self {
        let TaskView { row, actions, state } = task;
        Self {
            task: TaskFields::new(config, &row, state, actions.into_iter()),
            agent_name: row.agent_name,
            purpose: row.purpose,
            decided_by: row.decided_by_email,
            stopped_by: row.stopped_by_email,
        }
    }
}

impl Listed for TaskResponse {
    const MEMBER: &'static str = "tasks";
}

impl Paged for TaskResponse {
    type Cursor = String;
    const NEXT: &'static str = "next_before";

    fn cursor(&self) -> String {
        self.task.task_id.clone()
    }
}
