//! Tasks that a change of configuration ends, and their audit records.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::metric;
use pyxis_store::audit::Change;
use pyxis_store::tasks::{StoppedTask, TaskRow};
use serde_json::{Value, json};

use crate::error::Result;

/// Tasks that one change ends, as details of their audit records.
#[derive(Debug, Default)]
pub(crate) struct TaskEnds {
    stopped: Vec<Value>,
    withdrawn: Vec<Value>,
}

impl TaskEnds {
    /// Adds tasks that were stopped for this reason.
    pub(crate) fn add_stopped(&mut self, reason: &str, tasks: impl IntoIterator<Item = StoppedTask>) {
        self.stopped.extend(tasks.into_iter().map(|task| {
            json!({
                "task_id": task.id,
                "purpose": task.purpose,
                "agent": task.agent_name,
                "uses": task.uses,
                "reason": reason,
            })
        }));
    }

    /// Adds proposed tasks that were withdrawn for this reason.
    pub(crate) fn add_withdrawn(&mut self, reason: &str, tasks: impl IntoIterator<Item = TaskRow>) {
        self.withdrawn.extend(tasks.into_iter().map(|task| {
            json!({
                "task_id": task.id,
                "purpose": task.purpose,
                "agent": task.agent_name,
                "reason": reason,
            })
        }));
    }

    /// Number of stopped tasks.
    pub(crate) const fn stopped(&self) -> usize {
        self.stopped.len()
    }

    /// Writes an audit record for each task. Comes right before the record of the change itself.
    pub(crate) async fn record(&self, change: &mut Change<'_>) -> Result<()> {
        change.record_each(AuditEvent::TaskStopped, &self.stopped).await?;
        Ok(change.record_each(AuditEvent::TaskWithdrawn, &self.withdrawn).await?)
    }

    /// Counts the tasks, after the commit.
    pub(crate) fn count(&self) {
        for (outcome, tasks) in [("stopped", &self.stopped), ("withdrawn", &self.withdrawn)] {
            metrics::counter!(metric::TASKS.name, "outcome" => outcome).increment(tasks.len() as u64);
        }
    }
}
