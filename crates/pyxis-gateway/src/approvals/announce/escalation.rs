//! Escalation of pending requests: more rooms and people are asked after some time.
//!
//! The steps are stored with the request. A step is deleted in the transaction that performs it. So it is performed
//! once, on any node, even after a crash.

use std::collections::BTreeSet;
use std::time::Duration;

use pyxis_core::actor::ActorId;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;
use pyxis_core::policy::{EscalationStep, EscalationTarget, Policy};
use pyxis_store::announcements::AnnouncementRow;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::audit::{self, AuditRecord};
use pyxis_store::escalation_steps::{self, EscalationStepRow};
use pyxis_store::{StoreEvent, Tx};
use serde_json::json;

use super::approval_subject::{AnnouncementRoute, ApprovalSubject};
use super::recipients::{Audience, Reach, ask_people, ask_rooms};
use crate::error::Result;
use crate::identity::voters::{self, policy_of};
use crate::runtime::state::State;

/// Steps performed per round.
const BATCH: u32 = 200;

/// Stores the steps of a new request that are due before it expires.
pub(super) async fn schedule(tx: &mut Tx, row: &ApprovalRow, policy: Option<&Policy>) -> Result<()> {
    let steps = policy.map_or(&[][..], |policy| &policy.escalation);
    let new: Vec<_> = steps
        .iter()
        .zip(1..)
        .map(|(step, number)| EscalationStepRow {
            txn_id: row.txn_id,
            after_minutes: step.after_minutes.into(),
            workspace_id: row.workspace_id,
            number,
            due_at: row.created_at.plus(Duration::from_mins(step.after_minutes.into())),
        })
        .filter(|step| step.due_at < row.expires_at)
        .collect();
    Ok(escalation_steps::insert(tx, &new).await?)
}

/// Performs all due steps. Returns the time of the next one.
pub(crate) async fn perform_due(state: &State) -> Result<Option<UnixMillis>> {
    let now = state.now();
    for step in escalation_steps::due(&state.store, now, BATCH).await? {
        // A failed step stays due, and does not block the others.
        if let Err(error) = perform(state, &step).await {
            tracing::warn!(txn = %step.txn_id, %error, "cannot escalate a request yet; will retry");
        }
    }
    Ok(escalation_steps::next_due(&state.store, now).await?)
}

/// The step of the current policy for a stored one. Changed policies apply to pending requests: a removed step is not
/// performed, and a changed step asks its new room or people.
pub(crate) fn current<'p>(
    policy: Option<&'p Policy>,
    stored: &EscalationStepRow,
) -> Option<&'p EscalationStep> {
    let steps = policy.map_or(&[][..], |policy| &policy.escalation);
    steps.iter().find(|step| i64::from(step.after_minutes) == stored.after_minutes)
}

async fn perform(state: &State, step: &EscalationStepRow) -> Result<()> {
    let now = state.now();
    let mut tx = state.store.begin().await?;
    // Locked first, in the same order as a decision does, so that the two neither overlap nor deadlock.
    let row = approvals::find_for_update(&mut tx, step.workspace_id, step.txn_id).await?;
    if !escalation_steps::take(&mut tx, step).await? {
        return Ok(());
    }
    let mut channels = BTreeSet::new();
    if let Some(row) = row.filter(|row| row.state == ApprovalState::Pending && row.expires_at > now) {
        let policy = policy_of(&mut tx, row.workspace_id, row.credential_id).await?;
        if let Some(current) = current(policy.as_ref(), step) {
            let asked = announce_step(state, &mut tx, (&row, policy.as_ref()), current).await?;
            channels.extend(asked.iter().map(|one| one.channel.clone()));
            let record = record(now, &row, step.number, &channels, asked.len());
            audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
            tx.notify(StoreEvent::Approval { workspace: row.workspace_id, txn: row.txn_id });
        }
    }
    tx.commit().await?;
    for channel in channels {
        metrics::counter!(metric::ESCALATIONS.name, "channel" => channel).increment(1);
    }
    Ok(())
}

/// Asks the room or the people of a step.
async fn announce_step(
    state: &State,
    tx: &mut Tx,
    (row, policy): (&ApprovalRow, Option<&Policy>),
    step: &EscalationStep,
) -> Result<Vec<AnnouncementRow>> {
    let subject = ApprovalSubject::of_request(tx, row, policy).await?;
    let audience = match &step.target {
        EscalationTarget::Room(platform, room) => {
            return ask_rooms(state, tx, &subject, *platform, platform.rooms_of(room)).await;
        }
        EscalationTarget::Eligible => Audience::Eligible,
        EscalationTarget::People(emails) => Audience::People(
            voters::eligible_by_email(tx, row.workspace_id, row.credential_id, emails).await?,
        ),
    };
    let route = AnnouncementRoute::of_request(row, policy);
    ask_people(state, tx, (&subject, &route), &audience, &Reach::everywhere()).await
}

fn record(
    now: UnixMillis,
    row: &ApprovalRow,
    number: i64,
    channels: &BTreeSet<String>,
    asked: usize,
) -> AuditRecord {
    let mut record = AuditRecord::new(now, AuditEvent::ApprovalEscalated);
    record.workspace_id = Some(row.workspace_id);
    record.actor = ActorId::System;
    record.txn_id = Some(row.txn_id);
    record.credential = Some(row.credential_name.clone());
    record.method = Some(row.method.clone());
    record.host = Some(row.target_host.clone());
    record.detail = json!({ "step": number, "channels": channels, "asked": asked }).to_string();
    record
}
