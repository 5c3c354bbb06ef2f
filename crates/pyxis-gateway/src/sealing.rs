//! Which row a ciphertext belongs to. A ciphertext moved to another row does not open.

use pyxis_core::id::{AgentId, CredentialId, TxnId, WorkspaceId};
use pyxis_store::cipher::Aad;

/// `credentials.sealed_secret`.
pub(crate) fn credential(workspace: WorkspaceId, id: CredentialId) -> Aad {
    Aad::new("credentials", "sealed_secret", format!("{workspace}/{id}"))
}

/// `approvals.sealed_target`.
pub(crate) fn target(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approvals", "sealed_target", format!("{workspace}/{txn}"))
}

/// `approval_bodies.sealed_request`.
pub(crate) fn request(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approval_bodies", "sealed_request", format!("{workspace}/{txn}"))
}

/// `approval_bodies.sealed_response`.
pub(crate) fn response(workspace: WorkspaceId, txn: TxnId) -> Aad {
    Aad::new("approval_bodies", "sealed_response", format!("{workspace}/{txn}"))
}

/// `idempotency.sealed_outcome`.
pub(crate) fn outcome(workspace: WorkspaceId, agent: AgentId, key_hash: &str) -> Aad {
    Aad::new("idempotency", "sealed_outcome", format!("{workspace}/{agent}/{key_hash}"))
}
