//! Associated data of idempotent outcomes. Other kinds are defined next to their tables.

use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_store::cipher::Aad;

/// Associated data of `idempotency.sealed_outcome`.
pub(crate) fn outcome(workspace: WorkspaceId, agent: AgentId, key_hash: &str) -> Aad {
    Aad::new("idempotency", "sealed_outcome", workspace, format_args!("{agent}/{key_hash}"))
}
