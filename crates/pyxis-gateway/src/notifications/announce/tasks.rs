//! Announcements of tasks: webhook events, and browser notifications of people who may decide.

use std::collections::{BTreeMap, BTreeSet};

use pyxis_core::approval_mode::Channel;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, PushSubscriptionId, UserId};
use pyxis_core::task::{TaskState, TaskUrl};
use pyxis_core::webhook::{TaskEvent, TaskEventAction, TaskOutcome, host_only};
use pyxis_store::Tx;
use pyxis_store::push::{self, PushMessageRow};
use pyxis_store::tasks::{TaskActionRow, TaskRow};

use super::quiet::{Quiet, Recipients};
use crate::error::Result;
use crate::identity::voters;
use crate::notifications::webhooks::emit_task;
use crate::runtime::state::State;

/// Announces a proposed task.
pub(crate) async fn announce_proposal(
    state: &State,
    tx: &mut Tx,
    row: &TaskRow,
    actions: &[TaskActionRow],
) -> Result<()> {
    emit(state, tx, row, actions, None).await?;
    let messages = browsers(state.now(), tx, row, &credentials(actions)).await?;
    let new: Vec<_> = messages
        .into_iter()
        .map(|(subscription_id, due)| PushMessageRow {
            subscription_id,
            txn_id: row.id.as_subject(),
            workspace_id: row.workspace_id,
            attempts: 0,
            next_at: due,
            expires_at: row.expires_at,
        })
        .collect();
    Ok(push::enqueue(tx, &new).await?)
}

/// Announces an approval or a denial. `row` and `actions` are as decided.
pub(crate) async fn announce_decision(
    state: &State,
    tx: &mut Tx,
    row: &TaskRow,
    actions: &[TaskActionRow],
) -> Result<()> {
    let outcome = TaskOutcome {
        state: row.state.as_str(),
        approver: row.decided_by_email.as_deref().unwrap_or_default(),
        reason: row.reason.as_deref(),
    };
    emit(state, tx, row, actions, Some(outcome)).await
}

/// Credentials of a task, each once.
pub(crate) fn credentials(actions: &[TaskActionRow]) -> Vec<CredentialId> {
    let all: BTreeSet<CredentialId> = actions.iter().map(|action| action.credential_id).collect();
    all.into_iter().collect()
}

/// Those of `people` who may decide a task with these credentials: about each of them.
pub(crate) async fn eligible_among(
    tx: &mut Tx,
    row: &TaskRow,
    credentials: &[CredentialId],
    mut people: Vec<UserId>,
) -> Result<Vec<UserId>> {
    for credential in credentials {
        people = voters::eligible_among(tx, row.workspace_id, *credential, people).await?;
    }
    Ok(people)
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
                method: &action.method,
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

fn host(url: &str) -> String {
    let example = TaskUrl::parse(url).ok().and_then(|url| url.example());
    example.map(|target| host_only(&target.authority()).to_owned()).unwrap_or_default()
}

/// Browsers to notify, each from its time on: those of people on call. If the channel of a credential's policy is the
/// dashboard, those of everyone who may decide. Quiet hours hold as for a single request.
async fn browsers(
    now: UnixMillis,
    tx: &mut Tx,
    row: &TaskRow,
    credentials: &[CredentialId],
) -> Result<Vec<(PushSubscriptionId, UnixMillis)>> {
    let (mut is_told, mut on_call, mut policies) = (false, Vec::new(), Vec::new());
    for credential in credentials {
        let policy = voters::policy_of(&mut *tx, row.workspace_id, *credential).await?;
        if let Some(policy) = &policy {
            is_told |= policy.channel == Channel::Dashboard;
            on_call
                .extend(voters::eligible_by_email(tx, row.workspace_id, *credential, &policy.on_call).await?);
        }
        policies.push((*credential, policy));
    }
    let all = push::list(&mut *tx, row.workspace_id).await?;
    let people = all.iter().map(|(_, person)| *person).filter(|person| is_told || on_call.contains(person));
    let people = eligible_among(tx, row, credentials, people.collect()).await?;
    let mut earliest: BTreeMap<UserId, UnixMillis> = BTreeMap::new();
    for (credential, policy) in &policies {
        let quiet = Quiet::of_task(now, row, *credential, policy.as_ref());
        for (person, due) in quiet.due(tx, &people, &Recipients::default()).await? {
            earliest.entry(person).and_modify(|first| *first = due.min(*first)).or_insert(due);
        }
    }
    Ok(all.into_iter().filter_map(|(browser, person)| Some((browser, *earliest.get(&person)?))).collect())
}

/// True if a task waits for a decision.
pub(crate) fn is_waiting(row: &TaskRow, now: UnixMillis) -> bool {
    row.state.at(now, row.expires_at, false) == TaskState::Proposed
}
