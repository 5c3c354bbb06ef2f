//! "Deny all from this agent": disables its key and denies its pending requests.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{AgentId, TxnId};

use super::agents::{self, AgentPatch};
use super::callers::Caller;
use crate::approvals::decide::{self, Decision};
use crate::approvals::view::{self, Filter};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Requests per batch.
const BATCH: u32 = 200;

/// Result of denying all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeniedAll {
    /// Number of denied requests.
    pub denied: u64,
    /// Requests that this person may not decide. They cannot be sent while the agent is disabled.
    pub left: u64,
}

/// Disables the agent, then denies all its pending requests, each through the usual decision function. In this order no
/// new request can become pending after the last one.
pub async fn deny_all(
    state: &State,
    caller: &Caller,
    surface: DecisionSurface,
    id: AgentId,
    reason: Option<&str>,
) -> Result<DeniedAll> {
    let patch = AgentPatch { enabled: Some(false), ..AgentPatch::default() };
    agents::update(state, &caller.actor(), id, patch).await?;
    let mut done = DeniedAll::default();
    let mut beyond = None;
    loop {
        let filter = Filter {
            state: Some(ApprovalState::Pending),
            agent: Some(id),
            rising: true,
            beyond,
            limit: BATCH,
            ..Filter::default()
        };
        let waiting = view::list(state, caller.workspace(), &filter).await?;
        let Some(last) = waiting.last() else { return Ok(done) };
        beyond = Some((last.row.created_at, last.row.txn_id));
        for view in &waiting {
            count(&mut done, deny(state, caller, surface, view.row.txn_id, reason).await?);
        }
    }
}

/// Denies one request. `None` if it was settled meanwhile.
async fn deny(
    state: &State,
    caller: &Caller,
    surface: DecisionSurface,
    txn: TxnId,
    reason: Option<&str>,
) -> Result<Option<bool>> {
    let word = Decision::Deny(reason.map(str::to_owned));
    match decide::decide(state, &caller.approver(surface), txn, word).await {
        Ok(_) => Ok(Some(true)),
        // A person who already approved cannot take that back, but the request is not sent anyway.
        Err(Error::NotEligible(_) | Error::AlreadyDecided(ApprovalState::Pending)) => Ok(Some(false)),
        Err(Error::AlreadyDecided(_) | Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn count(done: &mut DeniedAll, denied: Option<bool>) {
    match denied {
        Some(true) => done.denied += 1,
        Some(false) => done.left += 1,
        None => {}
    }
}
