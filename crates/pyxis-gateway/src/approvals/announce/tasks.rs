//! Announcements of tasks: webhook events, and messages to the rooms and people that are asked about the requests of
//! their credentials.

use pyxis_core::clock::UnixMillis;
use pyxis_core::task::{TaskState, TaskUrl};
use pyxis_core::webhook::{TaskEvent, TaskEventAction, TaskOutcome, host_only};
use pyxis_store::Tx;
use pyxis_store::tasks::{TaskActionRow, TaskRow};

use super::approval_subject::{AnnouncementRoute, ApprovalSubject, task_credentials};
use super::recipients;
use super::webhook_events::emit_task;
use crate::error::Result;
use crate::identity::voters;
use crate::runtime::state::State;

/// Announces a proposed task: on the routes of its credentials, one after the other. Each recipient is told once.
pub(crate) async fn announce_proposal(
    state: &State,
    tx: &mut Tx,
    row: &TaskRow,
    actions: &[TaskActionRow],
) -> Result<()> {
    emit(state, tx, row, actions, None).await?;
    let subject = ApprovalSubject::of_task(row, actions);
    for credential in task_credentials(actions) {
        let policy = voters::policy_of(&mut *tx, row.workspace_id, credential).await?;
        let route = AnnouncementRoute::of_credential(credential, policy.as_ref());
        recipients::ask_first(state, tx, &subject, &route).await?;
    }
    Ok(())
}

/// Announces an approval, a denial or a withdrawal. `row` and `actions` are as decided.
pub(crate) async fn announce_decision(
    state: &State,
    tx: &mut Tx,
    row: &TaskRow,
    actions: &[TaskActionRow],
) -> Result<()> {
    let outcome = TaskOutcome {
        state: row.state.as_str(),
        approver: row.decided_by_email.as_deref(),
        reason: row.reason.as_deref(),
    };
    emit(state, tx, row, actions, Some(outcome)).await
}

async fn emit(
    state: &State,
    tx: &mut Tx,
    row: &TaskRow,
    actions: &[TaskActionRow],
    decision: Option<TaskOutcome<'_>>,
) -> Result<()> {
    let remaining = actions.iter().filter(|action| action.max_uses > 0);
    let event = TaskEvent {
        task: row.id,
        agent_name: &row.agent_name,
        purpose: &row.purpose,
        actions: remaining
            .map(|action| TaskEventAction {
                credential_name: &action.credential_name,
                method: action.method.as_str(),
                target_host: host(&action.url),
                max_uses: action.max_uses,
            })
            .collect(),
        task_url: &format!("{}/app/tasks/{}", state.config.base_url, row.id),
        expires_at: row.expires_at,
        decision,
    };
    emit_task(&state.outbox, state.now(), tx, row.workspace_id, &event).await
}

/// Host of an action for people, without secrets.
pub(crate) fn shown_host(action: &TaskActionRow) -> String {
    let host = host(action.redacted_url());
    if host.is_empty() { "a hidden host".to_owned() } else { host }
}

fn host(url: &str) -> String {
    let example = TaskUrl::parse(url).ok().and_then(|url| url.example());
    example.map(|target| host_only(target.authority()).to_owned()).unwrap_or_default()
}

/// True if a task waits for a decision.
pub(crate) fn is_waiting(row: &TaskRow, now: UnixMillis) -> bool {
    row.state.at(now, row.expires_at, false) == TaskState::Proposed
}
