//! Tasks that agents propose.

use askama::Template;

use super::audit::AuditRow;
use super::{Choice, Layout, Problems, Timestamp, in_section};

/// `GET /app/tasks`.
#[derive(Clone, Debug, Template)]
#[template(path = "tasks.html")]
pub struct TasksPage {
    pub shell: Layout,
    /// Tasks, newest first.
    pub tasks: Vec<TaskLine>,
    /// Link to older ones.
    pub older: Option<String>,
}

/// `GET /app/tasks/{id}`. Posts to `/app/tasks/{id}/approve` (`keep-N`, `uses-N`, `minutes`), `/deny` (`reason`) and
/// `/stop`. If an action that is kept needs a passkey: also `ceremony` and `credential`, after `/begin` returned the
/// challenge.
#[derive(Clone, Debug, Template)]
#[template(path = "task.html")]
pub struct TaskPage {
    pub shell: Layout,
    pub task: TaskLine,
    /// Version of what is shown, for live updates.
    pub mark: String,
    pub actions: Vec<ActionLine>,
    /// True if approving all of it needs a passkey, and this person has none.
    pub lacks_passkey: bool,
    /// Lengths to choose from.
    pub lengths: Vec<Choice>,
    /// Requests made under it, newest first.
    pub requests: Vec<AuditRow>,
    /// Reason as typed.
    pub typed: String,
    pub problems: Problems,
}

/// One task.
#[derive(Clone, Debug)]
pub struct TaskLine {
    pub id: String,
    pub agent: String,
    /// Purpose, as the agent wrote it.
    pub purpose: String,
    pub state: TaskBadge,
    /// Proposed length as text.
    pub length: String,
    /// `2 actions`.
    pub action_count: String,
    /// Number of requests so far.
    pub uses: i64,
    /// Maximum number of requests.
    pub most: i64,
    pub created: Timestamp,
    /// End of the time to decide, or of the task.
    pub expires: Timestamp,
    /// Email address of the person who decided, and the time.
    pub decided: Option<(String, Timestamp)>,
    /// Passkey that confirmed the approval.
    pub passkey_name: Option<String>,
    /// Reason of a denial or of an early end.
    pub reason: Option<String>,
    /// Email address of the person who stopped the task.
    pub stopped_by: Option<String>,
    /// Time of an early end.
    pub ended: Option<Timestamp>,
}

/// One action of a task.
#[derive(Clone, Debug)]
pub struct ActionLine {
    /// Position in the proposal, from 1.
    pub position: i64,
    pub credential: String,
    pub method: String,
    /// URL pattern.
    pub url: String,
    /// Conditions that the content of each request meets.
    pub content: Vec<String>,
    /// Number of requests as proposed.
    pub proposed: i64,
    /// Number of requests as approved; 0 if a person removed the action.
    pub most: i64,
    /// Number of requests so far.
    pub uses: i64,
    /// True if the box is ticked.
    pub keep: bool,
    /// True if its approval needs a passkey.
    pub needs_passkey: bool,
    /// Number of requests as typed.
    pub typed: String,
    /// Time of the last request.
    pub last: Option<Timestamp>,
}

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskBadge {
    Proposed,
    Running,
    Denied,
    Withdrawn,
    Expired,
    Stopped,
    Ended,
}

impl TaskBadge {
    /// Text of the badge.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Proposed => "Needs approval",
            Self::Running => "Running",
            Self::Denied => "Denied",
            Self::Withdrawn => "Withdrawn",
            Self::Expired => "Expired",
            Self::Stopped => "Stopped",
            Self::Ended => "Ended",
        }
    }

    /// CSS class of the badge.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Proposed => "amber",
            Self::Running => "green",
            Self::Denied | Self::Stopped => "red",
            Self::Withdrawn | Self::Expired | Self::Ended => "gray",
        }
    }
}

impl TaskPage {
    const fn is_proposed(&self) -> bool {
        matches!(self.task.state, TaskBadge::Proposed)
    }

    const fn is_running(&self) -> bool {
        matches!(self.task.state, TaskBadge::Running)
    }

    /// True if approving all of it needs a passkey.
    fn asks_passkey(&self) -> bool {
        self.actions.iter().any(|action| action.needs_passkey)
    }

    /// True if a person approved it, so that it may have been used.
    const fn was_approved(&self) -> bool {
        matches!(self.task.state, TaskBadge::Running | TaskBadge::Stopped | TaskBadge::Ended)
    }
}

in_section!(TasksPage => Inbox, TaskPage => Inbox);
