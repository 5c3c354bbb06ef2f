//! What idempotent outcomes are sealed for; the other identities stand beside their tables.

use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_store::cipher::Aad;

/// `idempotency.sealed_outcome`.
pub(crate) fn outcome(workspace: WorkspaceId, agent: AgentId, key_hash: &str) -> Aad {
    Aad::new("idempotency", "sealed_outcome", workspace, format_args!("{agent}/{key_hash}"))
}
