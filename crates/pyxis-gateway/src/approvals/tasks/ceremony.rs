//! Approval of a task with a passkey. The assertion is bound to the task as it was trimmed, and to the person.

use pyxis_core::actor::Actor;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TaskId;
use pyxis_store::ceremonies::Purpose;
use pyxis_store::tasks;
use pyxis_store::{passkeys, users};

use super::decide::{self, Approval};
use super::trimmed::{self, TrimmedTask};
use super::view::TaskView;
use crate::error::{Error, Result};
use crate::identity::ceremony::{self, CeremonyResponse, Challenge};
use crate::runtime::state::State;

/// Creates a challenge for approving a task as trimmed. The person's eligibility is checked only at the approval.
///
/// # Errors
/// `NotFound`. `Conflict` for a task that is no longer pending, or a person without a passkey. `InvalidField` for
/// anything that is not a part of the proposal.
pub async fn begin(state: &State, actor: &Actor, id: TaskId, approval: &Approval) -> Result<Challenge> {
    let (store, workspace) = (&state.store, actor.workspace);
    let row = tasks::find(store, workspace, id).await?.ok_or(Error::not_found("task"))?;
    let task = TaskView::of_row(store, row, state.now()).await?;
    decide::check_waiting(&task.row, state.now())?;
    let user = actor.user_id().ok_or(Error::Unauthenticated)?;
    let person = users::find(store, workspace, user).await?.ok_or(Error::Unauthenticated)?;
    let approved = TrimmedTask::new(&task.row, &task.actions, person.role, approval)?;
    let keys = passkeys::list(store, workspace, user).await?;
    let binding = trimmed::binding(id, &trimmed::digest(&task.row, &task.actions, &approved)?, user);
    ceremony::begin(state, Some(user), Purpose::Decide, binding, &keys).await
}

/// Approves with the answer to a challenge from [`begin`].
///
/// # Errors
/// As [`decide::approve`], and `PasskeyRefused`.
pub async fn approve(
    state: &State,
    by: (&Actor, DecisionSurface),
    id: TaskId,
    approval: &Approval,
    answer: &CeremonyResponse,
) -> Result<TaskView> {
    let user = by.0.user_id().ok_or(Error::Unauthenticated)?;
    let verified = ceremony::verify(state, answer, Purpose::Decide, Some(user)).await?;
    decide::approve_with(state, by, id, approval, Some(&verified)).await
}
