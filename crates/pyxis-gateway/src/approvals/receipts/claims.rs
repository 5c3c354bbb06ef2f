//! Content of a receipt, from the transaction's row and its audit records.

use pyxis_core::hex;
use pyxis_signing::receipt::{
    AuditHead, AuditProof, ProvenPlace, ReceiptAgent, ReceiptClaims, ReceiptCredential, ReceiptOutcome,
    ReceiptRequest, ReceiptResponse, ReceiptWorkspace, RecordedFacts, VERSION,
};
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::audit::{AuditKeys, TreeHead};
use pyxis_store::cipher::Keyring;
use pyxis_store::{Store, workspaces};
use sha2::{Digest, Sha256};

use super::keys;
use crate::approvals::agent_response;
use crate::error::{Error, Result};
use crate::runtime::state::State;

pub(super) async fn build(
    state: &State,
    row: &ApprovalRow,
    facts: RecordedFacts,
    places: Vec<ProvenPlace>,
    head: &TreeHead,
) -> Result<ReceiptClaims> {
    let workspace = workspaces::find(&state.store, row.workspace_id).await?;
    let workspace = workspace.ok_or(Error::not_found("workspace"))?;
    let response = response_digest(&state.store, &state.keyring, row).await?;
    let claims = ReceiptClaims {
        ver: VERSION,
        iss: state.config.base_url.clone(),
        iat: state.now().0.div_euclid(1000),
        sub: row.txn_id.to_string(),
        workspace: ReceiptWorkspace { id: workspace.id.to_string(), name: workspace.name },
        agent: ReceiptAgent { id: row.agent_id.to_string(), name: facts.agent_name.clone() },
        credential: ReceiptCredential {
            id: row.credential_id.to_string(),
            name: row.credential_name.clone(),
            version: row.credential_version,
        },
        request: request(row, &facts),
        audit: AuditProof { records: places, head: audit_head(&state.audit_keys, head) },
        outcome: ReceiptOutcome { response, ..facts.outcome.clone() },
        edit: facts.edit.clone(),
        decision: facts.decision.clone(),
        votes: facts.votes.clone(),
        grant: facts.grant.clone(),
        sent: facts.sent.clone(),
    };
    match facts.difference(&claims) {
        None => Ok(claims),
        Some(claim) => {
            Err(Error::Internal(format!("the transaction and its audit records differ in {claim}").into()))
        }
    }
}

fn request(row: &ApprovalRow, facts: &RecordedFacts) -> ReceiptRequest {
    ReceiptRequest {
        kind: row.kind.as_str().to_owned(),
        method: row.method.to_string(),
        host: facts.host.clone().unwrap_or_default(),
        target: facts.target.clone(),
        digest: row.asked_digest.as_ref().unwrap_or(&row.digest).clone(),
        body_bytes: row.body_bytes,
        rule: facts.rule.clone(),
        at: facts.requested_at.clone(),
        expires_at: row.expires_at.to_rfc3339(),
        min_approvals: row.min_approvals,
        passkey_required: row.passkey_required,
    }
}

/// Digest of the stored response. What is stored after a failure is not one.
async fn response_digest(
    store: &Store,
    keyring: &Keyring,
    row: &ApprovalRow,
) -> Result<Option<ReceiptResponse>> {
    if row.error.is_some() {
        return Ok(None);
    }
    let stored = agent_response::open(store, keyring, row).await?;
    Ok(stored.map(|stored| ReceiptResponse {
        body_sha256: hex::encode(&Sha256::digest(&stored.body)),
        body_bytes: stored.body.len() as u64,
        truncated: stored.truncated,
    }))
}

fn audit_head(audit_keys: &AuditKeys, head: &TreeHead) -> AuditHead {
    AuditHead {
        size: head.end.seq.unsigned_abs(),
        root: hex::encode(&head.root),
        mac: hex::encode(&head.end.mac),
        signed_at: head.signed_at.0,
        kid: keys::audit_key(audit_keys).kid().to_owned(),
        signature: hex::encode(&head.signature),
    }
}
