//! Seals, stores and announces a request that needs approval. The agent receives a 202.

use bytes::Bytes;
use pyxis_core::approval_mode::Channel;
use pyxis_core::clock::UnixMillis;
use pyxis_core::digest;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_store::approvals::{self, ApprovalKind, ApprovalRow, NewApproval, Newcomer, NoRoom};
use pyxis_store::{Store, StoreError, StoreEvent, Tx, audit, undelivered};

use crate::approvals::announce;
use crate::config::Config;
use crate::credentials::outbound::clean_headers;
use crate::credentials::records;
use crate::credentials::redaction::{RedactedRequest, Redactor};
use crate::credentials::requests::authorize::{self, Matched};
use crate::credentials::requests::entry_point::EntryPoint;
use crate::credentials::requests::handshake;
use crate::credentials::requests::idempotency::Claimed;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::{Error, Result};
use crate::runtime::state::State;
use crate::runtime::stored::StoredRequest;

/// Attempts in a race between identical requests before giving up.
const ATTEMPTS: usize = 5;

/// Stores the request as pending, or finds an identical one that is pending. Through an entry point it may also be a
/// decided one whose outcome its agent has not received.
pub(crate) async fn pause(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    body: Bytes,
    claim: Option<&Claimed>,
) -> Result<ApprovalRow> {
    let headers = clean_headers(&asked.head.headers, asked.credential);
    let request = StoredRequest { target: asked.target.to_string(), headers, body };
    store(state, asked, matched, ApprovalKind::Forward, &request, claim).await
}

/// Like [`pause`], for data to be stored as `request`.
pub(crate) async fn store(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    kind: ApprovalKind,
    request: &StoredRequest,
    claim: Option<&Claimed>,
) -> Result<ApprovalRow> {
    let dedupe = dedupe(asked, &request.target, &request.body);
    let workspace = asked.agent.workspace_id();
    for _ in 0..ATTEMPTS {
        if let Some(duplicate) =
            approvals::find_pending_duplicate(&state.store, workspace, &dedupe, state.now()).await?
        {
            join(&state.store, claim, &duplicate).await?;
            return Ok(duplicate);
        }
        match insert(state, asked, matched, kind, request, &dedupe, claim).await {
            Ok(row) => {
                state.work.expiry_changed();
                return Ok(row);
            }
            // An identical request was added meanwhile, or is past its window and not marked as expired yet.
            Err(Error::Unavailable(StoreError::Conflict { .. })) => {
                super::expire::expire_due(state).await?;
            }
            Err(error @ (Error::TooManyPending { .. } | Error::QuotaExceeded(_))) => {
                // The identical request may have taken the last place.
                let duplicate =
                    approvals::find_pending_duplicate(&state.store, workspace, &dedupe, state.now()).await?;
                let Some(duplicate) = duplicate else {
                    records::record_refusal(state, asked, &error);
                    return Err(error);
                };
                join(&state.store, claim, &duplicate).await?;
                return Ok(duplicate);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Conflict("an identical request is being decided right now; send this one again"))
}

/// Links a claimed key to a transaction that exists already.
pub(super) async fn join(store: &Store, claim: Option<&Claimed>, duplicate: &ApprovalRow) -> Result<()> {
    match claim {
        None => Ok(()),
        Some(claim) => {
            claim.attach(store, duplicate.txn_id).await?;
            claim.tied();
            Ok(())
        }
    }
}

async fn insert(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    kind: ApprovalKind,
    request: &StoredRequest,
    dedupe: &str,
    claim: Option<&Claimed>,
) -> Result<ApprovalRow> {
    let txn = TxnId::new(&*state.entropy);
    let workspace = asked.agent.workspace_id();
    state.last_used.note_agent(asked.agent.id(), state.now());
    let newcomer = Newcomer {
        workspace,
        agent: asked.agent.id(),
        bytes: i64::try_from(request.body.len()).unwrap_or(i64::MAX),
        now: state.now(),
    };
    let limits = &state.config.room;
    // Checked before the workspace's secrets are opened. The exact check is in the transaction.
    refuse(approvals::limit_seen(&state.store, limits, &newcomer).await?)?;
    let redactor =
        Redactor::of_workspace(&state.store, &state.keyring, workspace, &[asked.credential.row.id]).await?;
    let words = redactor.redact_request(asked);
    let content_type = content_type(request).map(|text| redactor.text(text));
    let new = new_approval(state, asked, matched, request, dedupe, txn, &words);
    let new = NewApproval { kind, content_type, ..new };
    let sealed = state.keyring.seal(
        &*state.entropy,
        &approvals::request_aad(workspace, txn),
        request.encode().expose(),
    );
    let mut tx = state.store.begin().await?;
    refuse(approvals::agent_limit(&mut tx, limits, &newcomer).await?)?;
    approvals::insert(&mut tx, &new, sealed).await?;
    let has_entry_point = EntryPoint::from_request(asked.head).is_some();
    if has_entry_point
        && let Some(decided) = undelivered(&state.config, state.now(), &mut tx, workspace, dedupe).await?
    {
        drop(tx);
        join(&state.store, claim, &decided).await?;
        return Ok(decided);
    }
    let record = records::pending_record(state.metrics(), state.now(), asked, matched, txn, &words);
    audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
    refuse(approvals::workspace_limit(&mut tx, limits, workspace, state.now()).await?)?;
    if let Some(claim) = claim {
        claim.attach(&mut tx, txn).await?;
    }
    if has_entry_point {
        undelivered::insert(&mut tx, workspace, txn, dedupe).await?;
    }
    let row = approvals::find(&mut tx, workspace, txn).await?.ok_or(Error::not_found("transaction"))?;
    announce::requested(state, &mut tx, &row, &redactor.bytes(request.body.clone())).await?;
    tx.notify(StoreEvent::Approval { workspace, txn });
    tx.commit().await?;
    if let Some(claim) = claim {
        claim.tied();
    }
    Ok(row)
}

/// The identical request that was decided after its outcome was looked for, in the transaction that found none pending.
async fn undelivered(
    config: &Config,
    now: UnixMillis,
    tx: &mut Tx,
    workspace: WorkspaceId,
    dedupe: &str,
) -> Result<Option<ApprovalRow>> {
    let since = now.minus(config.retention);
    match undelivered::find(&mut *tx, workspace, dedupe, since).await? {
        Some(txn) => Ok(approvals::find(tx, workspace, txn).await?),
        None => Ok(None),
    }
}

fn refuse(full: Option<NoRoom>) -> Result<()> {
    match full {
        None => Ok(()),
        Some(NoRoom::AgentPending(limit)) => Err(Error::TooManyPending { limit }),
        Some(full) => Err(Error::QuotaExceeded(full)),
    }
}

fn new_approval(
    state: &State,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
    request: &StoredRequest,
    dedupe: &str,
    txn: TxnId,
    words: &RedactedRequest,
) -> NewApproval {
    let (credential, agent) = (&asked.credential.row, &asked.agent.row);
    let now = state.now();
    let target = request.target.as_bytes();
    NewApproval {
        txn_id: txn,
        workspace_id: agent.workspace_id,
        agent_id: agent.id,
        agent_name: agent.name.clone(),
        credential_id: credential.id,
        credential_name: credential.name.clone(),
        credential_version: credential.version,
        kind: ApprovalKind::Forward,
        method: asked.method,
        target_host: words.host.clone(),
        sealed_target: state.keyring.seal(
            &*state.entropy,
            &approvals::target_aad(agent.workspace_id, txn),
            target,
        ),
        rule: matched.rule,
        pattern: matched.pattern.clone(),
        reason: words.reason.clone(),
        digest: request_digest(request, asked.method.as_str(), credential, agent.id),
        dedupe: dedupe.to_owned(),
        body_bytes: i64::try_from(request.body.len()).unwrap_or(i64::MAX),
        content_type: None,
        min_approvals: i64::from(authorize::min_approvals(asked.credential)),
        passkey_required: authorize::passkey_required(asked.credential),
        channel: channel(asked),
        created_at: now,
        expires_at: now.plus(timeout(&state.config, asked)),
    }
}

fn channel(asked: &ValidatedRequest<'_>) -> Channel {
    authorize::channel(asked.credential)
}

/// Approval window of the policy, or else of the workspace, or else of the installation.
fn timeout(config: &Config, asked: &ValidatedRequest<'_>) -> std::time::Duration {
    let policy = authorize::policy_of(asked.credential).and_then(|policy| policy.approval_timeout_secs);
    let workspace = asked.agent.workspace.approval_timeout_secs.and_then(|secs| u64::try_from(secs).ok());
    policy.map(u64::from).or(workspace).map_or(config.approval_timeout, std::time::Duration::from_secs)
}

/// Content type of a request, if it is text.
pub(super) fn content_type(request: &StoredRequest) -> Option<&str> {
    request.headers.get(http::header::CONTENT_TYPE)?.to_str().ok()
}

/// Digest of everything that the approver sees, which is exactly what is sent.
pub(crate) fn request_digest(
    request: &StoredRequest,
    method: &str,
    credential: &pyxis_store::credentials::CredentialRow,
    agent: pyxis_core::id::AgentId,
) -> String {
    let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    digest::request(method, &request.target, headers, &request.body, credential.id, credential.version, agent)
}

/// Digest by which identical requests are found. The handshakes of WebSockets have no body, and differ by what is spoken
/// after them.
pub(crate) fn dedupe(asked: &ValidatedRequest<'_>, target: &str, body: &[u8]) -> String {
    let protocols = handshake::protocols(asked.head);
    let body = protocols.as_deref().map_or(body, str::as_bytes);
    digest::dedupe(asked.agent.id(), asked.credential.row.id, asked.method.as_str(), target, body)
}
