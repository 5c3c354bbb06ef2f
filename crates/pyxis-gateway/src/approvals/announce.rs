//! Announcements of requests and tasks. Those of a change are stored in its transaction; due escalation steps have one
//! each. Nothing here waits for an external service.

pub(crate) mod approval_subject;
mod browsers;
pub(crate) mod chats;
pub(crate) mod escalation;
mod quiet;
mod recipients;
pub(crate) mod tasks;
mod webhook_events;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::preview::preview;
use pyxis_core::webhook::{ApprovalDecided, Payload, Requested};
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::outbox::Outbox;
use pyxis_store::{Tx, escalation_steps};

use self::approval_subject::{AnnouncementRoute, ApprovalSubject};
use self::webhook_events::emit;
use crate::error::Result;
use crate::identity::voters::policy_of;
use crate::runtime::state::State;

/// Announces a paused request that needs approval. `body` is its body, without stored secrets.
pub(crate) async fn requested(state: &State, tx: &mut Tx, row: &ApprovalRow, body: &[u8]) -> Result<()> {
    let preview = preview(body);
    let payload = Payload::Requested(Requested {
        txn: row.txn_id,
        credential_name: &row.credential_name,
        method: row.method.as_str(),
        target: &row.target_host,
        body_preview: preview.as_deref(),
        summary: row.reason.as_deref(),
        approval_url: &format!("{}/approve/{}", state.config.base_url, row.txn_id),
        expires_at: row.expires_at,
        channel: row.channel,
    });
    emit(&state.outbox, state.now(), tx, row.workspace_id, &payload).await?;
    let policy = policy_of(&mut *tx, row.workspace_id, row.credential_id).await?;
    let (subject, route) =
        (ApprovalSubject::of_new_request(row), AnnouncementRoute::of_request(row, policy.as_ref()));
    recipients::ask_first(state, tx, &subject, &route).await?;
    escalation::schedule(tx, row, policy.as_ref()).await
}

/// Cancels the escalation steps that are left, and updates the messages.
async fn end_announcements(
    now: UnixMillis,
    tx: &mut Tx,
    row: &ApprovalRow,
    end: ApprovalState,
) -> Result<()> {
    escalation_steps::cancel(tx, row.txn_id).await?;
    chats::update_messages(now, tx, row, end).await
}

/// Updates messages after one of several required approvals.
pub(crate) async fn voted(now: UnixMillis, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    chats::refresh(now, tx, row).await
}

/// Announces an approval. Its result is announced later, by [`sent`].
pub(crate) async fn approved(now: UnixMillis, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    end_announcements(now, tx, row, ApprovalState::Approved).await
}

/// Announces a denial.
pub(crate) async fn denied(
    outbox: &Outbox,
    now: UnixMillis,
    tx: &mut Tx,
    row: &ApprovalRow,
    approver: &str,
) -> Result<()> {
    let payload = Payload::Decided(ApprovalDecided {
        txn: row.txn_id,
        outcome: ApprovalState::Denied,
        approver,
        channel: row.channel,
        upstream_status: None,
    });
    emit(outbox, now, tx, row.workspace_id, &payload).await?;
    end_announcements(now, tx, row, ApprovalState::Denied).await
}

/// Announces the end of an approved request. `status` is the upstream's, if its response is complete.
pub(crate) async fn sent(
    outbox: &Outbox,
    now: UnixMillis,
    tx: &mut Tx,
    row: &ApprovalRow,
    status: Option<i64>,
) -> Result<()> {
    let payload = Payload::Decided(ApprovalDecided {
        txn: row.txn_id,
        outcome: ApprovalState::Approved,
        approver: row.decided_by_email.as_deref().unwrap_or_default(),
        channel: row.channel,
        upstream_status: status,
    });
    emit(outbox, now, tx, row.workspace_id, &payload).await
}

/// Announces an expiry or a withdrawal by the agent.
pub(crate) async fn expired(outbox: &Outbox, now: UnixMillis, tx: &mut Tx, row: &ApprovalRow) -> Result<()> {
    emit(outbox, now, tx, row.workspace_id, &Payload::Expired(row.txn_id)).await?;
    end_announcements(now, tx, row, ApprovalState::Expired).await
}
