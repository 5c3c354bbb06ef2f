//! The stored response of an approved request, for the people who may decide it.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use pyxis_core::approval_mode::ForwardState;
use pyxis_core::policy::Policy;
use pyxis_store::Store;
use pyxis_store::cipher::Keyring;

use super::agent_response::open;
use super::approver::Approver;
use super::failure::ForwardFailure;
use super::view::ApprovalView;
use crate::credentials::redaction::Redactor;
use crate::error::Result;
use crate::identity::voters::{eligible, policy_of};

/// A response or a failure, as its agent receives it.
#[derive(Debug)]
pub enum OutcomeView {
    Response {
        /// HTTP status; `None` for a signature.
        status: Option<u16>,
        /// The `Content-Type`.
        content_type: Option<String>,
        /// The stored body.
        body: Bytes,
        /// True if the response was longer than its stored part.
        truncated: bool,
    },
    /// Explanation of a failure, in one sentence.
    Failure(String),
    /// A response that was erased after the retention period.
    Erased,
}

/// The outcome of a sent request. `None` while there is none, and for a person who may not decide requests for the
/// credential. `assigned` means that they have the Approve right on it.
pub async fn load(
    store: &Store,
    keyring: &Keyring,
    approver: &Approver,
    assigned: bool,
    view: &ApprovalView,
) -> Result<Option<OutcomeView>> {
    let row = &view.row;
    if row.forward_state != ForwardState::Done {
        return Ok(None);
    }
    let policy = policy_of(store, row.workspace_id, row.credential_id).await?;
    if !may_read(approver, assigned, policy.as_ref()) {
        return Ok(None);
    }
    let Some(kept) = open(store, keyring, row).await? else {
        return Ok(row.error.is_none().then_some(OutcomeView::Erased));
    };
    // The response was scrubbed when it arrived. Secrets that were stored since then are replaced here.
    let redactor = Redactor::of_workspace(store, keyring, row.workspace_id, &[row.credential_id]).await?;
    if row.error.is_some() {
        let detail = ForwardFailure::read(&kept).detail;
        return Ok(detail.map(|detail| OutcomeView::Failure(redactor.text(&detail))));
    }
    let content_type = kept.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    Ok(Some(OutcomeView::Response {
        status: row.upstream_status.and_then(|status| u16::try_from(status).ok()),
        content_type: content_type.map(|text| redactor.text(text)),
        body: redactor.bytes(kept.body),
        truncated: kept.truncated,
    }))
}

/// True for managers, and for everyone who may decide requests for the credential.
fn may_read(approver: &Approver, assigned: bool, policy: Option<&Policy>) -> bool {
    approver.role.is_manager() || eligible(approver.role, assigned, &approver.email, policy).is_ok()
}
