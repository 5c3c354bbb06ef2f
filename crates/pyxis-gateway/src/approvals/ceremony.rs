//! Approval with a passkey. The assertion is bound to this request as shown, and to the action, the grant and the
//! person.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::id::TxnId;
use pyxis_store::approvals;
use pyxis_store::ceremonies::Purpose;
use pyxis_store::{passkeys, users};

use super::decide::{self, Approver, AuthMethod, Decision, DecisionOutcome, GrantRequest};
use super::edit::{self, Reviewed};
use crate::error::{Error, Result};
use crate::identity::ceremony::{self, CeremonyResponse, Challenge};
use crate::runtime::state::State;

/// Creates a challenge for approving `txn` as it was read and edited, optionally with a grant. The person's eligibility
/// is checked again at the approval.
///
/// # Errors
/// `NotFound`, `AlreadyDecided`, `Conflict` for a person without a passkey, `RequestChanged`, `InvalidField` for an edit
/// that cannot be made.
pub async fn begin(
    state: &State,
    approver: &Approver,
    txn: TxnId,
    wish: Option<GrantRequest>,
    reviewed: &Reviewed,
) -> Result<Challenge> {
    let row = approvals::find(&state.store, approver.workspace, txn).await?;
    let mut row = row.ok_or(Error::not_found("transaction"))?;
    if row.state != ApprovalState::Pending || row.expires_at <= state.now() {
        return Err(Error::AlreadyDecided(row.state));
    }
    let digest = reviewed.digest.as_deref();
    edit::check_seen(&row, digest)?;
    if let Some(changes) = &reviewed.edit {
        // The assertion is for the digest that the edit leads to.
        row = edit::prepare(state, approver, txn, digest, changes).await?.row;
    }
    let user = users::find(&state.store, approver.workspace, approver.user).await?;
    let user = user.ok_or(Error::Unauthenticated)?;
    let keys = passkeys::list(&state.store, user.workspace_id, user.id).await?;
    let binding = decide::binding(&row, approver, wish.as_ref());
    ceremony::begin(state, Some(approver.user), Purpose::Decide, binding, &keys).await
}

/// Approves with the answer to a challenge from [`begin`].
///
/// # Errors
/// As [`decide::decide`], and `PasskeyRefused`.
pub async fn approve(
    state: &State,
    approver: &Approver,
    txn: TxnId,
    wish: Option<GrantRequest>,
    answer: &CeremonyResponse,
    reviewed: &Reviewed,
) -> Result<DecisionOutcome> {
    let verified = ceremony::verify(state, answer, Purpose::Decide, Some(approver.user)).await?;
    let proof = AuthMethod::Passkey(Box::new(verified));
    decide::decide_reviewed(state, approver, txn, Decision::Approve(wish), &proof, None, reviewed).await
}
