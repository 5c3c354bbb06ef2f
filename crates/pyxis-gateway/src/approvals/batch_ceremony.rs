//! One passkey ceremony for several decisions. The assertion is bound to the requests as shown, the verdicts and the
//! person.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_store::approvals::{self, ApprovalRow};
use pyxis_store::ceremonies::Purpose;
use pyxis_store::{Store, passkeys, users};

use super::approver::Approver;
use super::batch::{self, BatchItem};
use super::batch_assertion::{self, BatchAssertion, ListedDecision};
use super::decide::{AuthMethod, DecisionOutcome};
use crate::error::{Error, Result};
use crate::identity::ceremony::{self, CeremonyResponse, Challenge};
use crate::runtime::state::State;

/// Creates a challenge for deciding `items`. The person's eligibility is checked again at each decision.
///
/// # Errors
/// As [`batch::check`]. `NotFound` if one of them does not exist, `AlreadyDecided` if none is pending, `Conflict` for a
/// person without a passkey.
pub async fn begin(state: &State, approver: &Approver, items: &[BatchItem]) -> Result<Challenge> {
    batch::check(items)?;
    let rows = rows(&state.store, approver, items).await?;
    let now = state.now();
    let is_pending = |row: &&ApprovalRow| row.state == ApprovalState::Pending && row.expires_at > now;
    if rows.iter().find(is_pending).is_none() {
        let state = rows.first().map_or(ApprovalState::Expired, |row| row.state);
        return Err(Error::AlreadyDecided(state));
    }
    let user = users::find(&state.store, approver.workspace, approver.user).await?;
    let user = user.ok_or(Error::Unauthenticated)?;
    let keys = passkeys::list(&state.store, user.workspace_id, user.id).await?;
    let binding = batch_assertion::binding(&list(&rows, items), approver.user);
    ceremony::begin(state, Some(approver.user), Purpose::Decide, binding, &keys).await
}

/// Decides with the answer to a challenge from [`begin`]. The answer is used up before the first decision, and then
/// serves each item once.
///
/// # Errors
/// As [`batch::decide_each`]. `PasskeyRefused` if the list or a request differs from the challenge; then nothing is
/// decided.
pub async fn decide(
    state: &State,
    approver: &Approver,
    items: &[BatchItem],
    answer: &CeremonyResponse,
) -> Result<Vec<Result<DecisionOutcome>>> {
    batch::check(items)?;
    let verified = ceremony::verify(state, answer, Purpose::Decide, Some(approver.user)).await?;
    let list = list(&rows(&state.store, approver, items).await?, items);
    verified.check_binding(&batch_assertion::binding(&list, approver.user))?;
    let mut tx = state.store.begin().await?;
    verified.record(&mut tx, state.now()).await?;
    tx.commit().await?;
    let proof = AuthMethod::PasskeyForBatch(Box::new(BatchAssertion::new(verified, list)));
    batch::decide_each(state, approver, items, &proof).await
}

/// The rows of `items`, in their order.
async fn rows(store: &Store, approver: &Approver, items: &[BatchItem]) -> Result<Vec<ApprovalRow>> {
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let row = approvals::find(store, approver.workspace, item.txn()?).await?;
        rows.push(row.ok_or(Error::not_found("transaction"))?);
    }
    Ok(rows)
}

fn list(rows: &[ApprovalRow], items: &[BatchItem]) -> Vec<ListedDecision> {
    rows.iter().zip(items).map(|(row, item)| ListedDecision::new(row, item.verdict)).collect()
}
