//! Receipts of decided requests (`docs/reference/receipts.md`): signed statements that anyone can verify offline.
//!
//! A receipt is written from the audit records of the request, and refused until all of them exist. Nothing is stored
//! for it: the same request can have any number of receipts.

mod claims;
pub mod keys;

use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_core::metric;
use pyxis_signing::receipt::{self, DisclosedRecord, FactsError, RecordedFacts, is_shown};
use pyxis_store::Store;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::audit::{
    self, AuditRow, HeadMatch, ProvenRecord, TreeEnd, TreeError, TreeHead, TreeProgress,
};

use crate::approvals::view;
use crate::credentials::redaction::Redactor;
use crate::error::receipt_wait::ReceiptWait;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Most records of a request that are looked at, of which a receipt has a few.
const MAX_RECORDS: u32 = 500;
/// Audit records that are hashed for one request before it is told to come back.
const HASHED_AT_ONCE: u64 = 20_480;
/// Name of the file in which a receipt is saved.
pub fn file_name(txn: TxnId) -> String {
    format!("receipt-{txn}.jwt")
}

/// A receipt of a workspace's transaction.
pub async fn issue(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<String> {
    let row = view::row(state, workspace, txn).await?;
    issue_for(state, &row).await
}

/// A receipt of a transaction whose row has its current state.
pub(crate) async fn issue_for(state: &State, row: &ApprovalRow) -> Result<String> {
    match (row.state, row.forward_state) {
        (ApprovalState::Pending, _) => return Err(Error::ReceiptNotReady(ReceiptWait::Pending)),
        (ApprovalState::Approved, ForwardState::Done)
        | (ApprovalState::Denied | ApprovalState::Expired, _) => {}
        (ApprovalState::Approved, _) => return Err(Error::ReceiptNotReady(ReceiptWait::Sending)),
    }
    let rows = records(&state.store, row).await?;
    let last = rows.last().map_or(0, |last| last.seq);
    // A record can be read a moment before it is on disk. A receipt must not name one that can be lost.
    state.audit.flush().await?;
    refuse_truncated(state).await?;
    let (head, proven) = prove(state, last, &rows).await?;
    let redactor =
        Redactor::of_workspace(&state.store, &state.keyring, row.workspace_id, &[row.credential_id]).await?;
    let places: Vec<_> = proven.iter().map(|record| disclose(&redactor, record)).collect();
    let facts = facts(&places)?;
    let signer = keys::signer(state).await?;
    let claims = claims::build(state, row, facts, places, &head).await?;
    receipt::sign(&claims, signer.public.kid(), &signer.private)
        .ok_or_else(|| Error::Internal("the receipt key does not sign".into()))
}

/// Facts that follow from the shown members; an error if something is missing.
fn facts(places: &[receipt::ProvenPlace]) -> Result<RecordedFacts> {
    let shown: std::result::Result<Vec<DisclosedRecord>, _> =
        places.iter().map(|place| DisclosedRecord::read(place.seq, &place.members)).collect();
    let shown = shown.map_err(|error| Error::Internal(Box::new(error)))?;
    RecordedFacts::read(&shown).map_err(|error| match error {
        FactsError::NoOutcome => Error::ReceiptNotReady(ReceiptWait::SocketOpen),
        FactsError::NoRequest | FactsError::NoDecision => Error::Internal(Box::new(error)),
    })
}

/// Records of the request itself, its decision and its outcome, oldest first.
async fn records(store: &Store, row: &ApprovalRow) -> Result<Vec<AuditRow>> {
    let mut rows = audit::of_transaction(store, row.workspace_id, row.txn_id, MAX_RECORDS).await?;
    rows.retain(|row| row.record.event.as_known().is_some_and(is_told));
    let executed: Vec<i64> = rows
        .iter()
        .filter(|row| row.record.event == AuditEvent::RequestExecuted)
        .map(|row| row.seq)
        .collect();
    for seq in executed {
        rows.extend(audit::outcome_of(store, seq).await?);
    }
    rows.sort_by_key(|row| row.seq);
    Ok(rows)
}

/// True for events that a receipt tells of.
const fn is_told(event: AuditEvent) -> bool {
    matches!(
        event,
        AuditEvent::RequestReceived
            | AuditEvent::ApprovalEdited
            | AuditEvent::ApprovalVoted
            | AuditEvent::ApprovalApproved
            | AuditEvent::ApprovalDenied
            | AuditEvent::ApprovalExpired
            | AuditEvent::ApprovalWithdrawn
            | AuditEvent::ApprovalOutcomeLost
            | AuditEvent::GrantCreated
            | AuditEvent::RequestExecuted
    )
}

/// Fails if records that an earlier head names are missing. A signature would hide the truncation.
async fn refuse_truncated(state: &State) -> Result<()> {
    let path = state.config.anchor.as_deref();
    if let Some(before) = state.anchor.newest(path).await?
        && audit::find_head(&state.store, &state.audit_keys, &before).await? != HeadMatch::Found
    {
        return Err(damaged(TreeError::Damaged { seq: before.seq }));
    }
    Ok(())
}

async fn prove(state: &State, last: i64, rows: &[AuditRow]) -> Result<(TreeHead, Vec<ProvenRecord>)> {
    let (store, keys) = (&state.store, &state.audit_keys);
    let end = audit::end_after(store, keys, last).await.map_err(damaged)?;
    let end = end.ok_or_else(|| damaged(TreeError::Damaged { seq: last }))?;
    extend(state, end).await?;
    let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
    let (head, proven) = audit::prove(store, keys, end, &seqs, state.now()).await.map_err(damaged)?;
    // Records were read twice. The proven ones were also compared with the chain.
    let same = proven.len() == rows.len() && proven.iter().zip(rows).all(|(proven, row)| proven.row == *row);
    if same { Ok((head, proven)) } else { Err(damaged(TreeError::Damaged { seq: last })) }
}

/// Hashes records that are not hashed yet. One request at a time does.
async fn extend(state: &State, end: TreeEnd) -> Result<()> {
    let _slot = state.receipt_slot.lock().await;
    let hashed = audit::extend_tree(&state.store, &state.audit_keys, end, HASHED_AT_ONCE).await;
    match hashed.map_err(damaged)? {
        TreeProgress::Ready => Ok(()),
        TreeProgress::Building { hashed, needed } => {
            Err(Error::ReceiptNotReady(ReceiptWait::Preparing { hashed, needed }))
        }
    }
}

fn damaged(error: TreeError) -> Error {
    match error {
        TreeError::Store(error) => error.into(),
        error @ TreeError::Damaged { .. } => {
            metrics::counter!(metric::AUDIT_DAMAGED.name).increment(1);
            Error::Internal(Box::new(error))
        }
    }
}

/// A record with the members that may be shown. Members in which a stored secret occurs are withheld.
fn disclose(redactor: &Redactor, record: &ProvenRecord) -> receipt::ProvenPlace {
    let members = record.members.iter().map(|member| {
        let shown = is_shown(&member.name) && redactor.text(&member.text) == member.text;
        if shown { member.text.clone() } else { pyxis_core::hex::encode(&member.hash()) }
    });
    receipt::ProvenPlace {
        seq: record.row.seq,
        members: members.collect(),
        path: record.path.iter().map(|sibling| pyxis_core::hex::encode(sibling)).collect(),
    }
}
