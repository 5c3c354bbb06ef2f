//! Withdrawal of the proposals of an agent that is disabled or removed.

use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_store::Tx;
use pyxis_store::tasks::{self, TaskRow};

use crate::approvals::announce;
use crate::error::Result;
use crate::runtime::state::State;

/// Withdraws the proposals of an agent and announces it, in the same transaction. The caller has locked the agent's row,
/// so that nothing is proposed in between.
pub(crate) async fn withdraw_proposals(
    state: &State,
    tx: &mut Tx,
    (workspace, agent): (WorkspaceId, AgentId),
    reason: &str,
) -> Result<Vec<TaskRow>> {
    let withdrawn = tasks::withdraw_for_agent(tx, workspace, agent, (reason, state.now())).await?;
    for row in &withdrawn {
        let actions = tasks::actions(&mut *tx, workspace, row.id).await?;
        announce::tasks::announce_decision(state, tx, row, &actions).await?;
    }
    Ok(withdrawn)
}
