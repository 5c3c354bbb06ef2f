//! Changes to a pending request by an approver, before the vote.
//!
//! Body, query and headers of the agent can be changed; credential, method, host and path cannot. The changed request is
//! checked like one that an agent sends. It gets a new digest, and earlier votes no longer count. All of that is stored
//! in the transaction of the vote, under the condition that the request is still the one that the approver read.

mod apply;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Method;
use pyxis_core::target::Target;
use pyxis_store::approvals::{self, ApprovalKind, ApprovalRow, EditedRequest, Newcomer};
use pyxis_store::{Tx, generations, votes};
use serde::Deserialize;
use utoipa::ToSchema;

use super::approver::Approver;
use super::difference::RequestDifference;
use super::execute::{self, current_credential, open_request};
use super::expire;
use super::pause::{content_type, request_digest};
use crate::credentials::redaction::Redactor;
use crate::credentials::requests::authorize;
use crate::error::{Error, Result};
use crate::identity::voters::{self, Voter};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;
use crate::runtime::stored::StoredRequest;
use crate::values;

/// Field that errors about an edit name.
const FIELD: &str = "edit";

/// Changes to a pending request. What is not named stays as it is.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestEdit {
    /// The whole new body, as text. A binary body cannot be edited.
    #[schema(nullable = false)]
    pub body: Option<String>,
    /// All query parameters, as name and value. Parameters that are not listed are removed.
    #[schema(value_type = Option<Vec<values::HeaderPair>>, nullable = false)]
    pub query: Option<Vec<(String, String)>>,
    /// Headers to set, as name and value, or to remove, as name and null. Other headers stay.
    #[schema(value_type = Option<Vec<Vec<Option<String>>>>, nullable = false)]
    pub headers: Option<Vec<(String, Option<String>)>>,
}

/// A request as an approver read it, and changes to it.
#[derive(Clone, Default)]
pub struct Reviewed {
    /// Digest of the request that was read.
    pub digest: Option<String>,
    /// Changes to make before the vote.
    pub edit: Option<RequestEdit>,
}

/// A checked edit that is not stored.
pub(super) struct PreparedEdit {
    /// The transaction as it will be.
    pub(super) row: ApprovalRow,
    /// Digest of the request before the edit.
    pub(super) seen: String,
    /// Names of the changed parts.
    pub(super) parts: Vec<&'static str>,
    /// Generation of the configuration by which it was checked.
    pub(super) generation: i64,
    request: StoredRequest,
    /// Content type of the edited body, as it may be shown.
    content_type: Option<String>,
}

/// Fails unless `digest` is that of the request as it stands. A request that was never edited can be approved without
/// one, because nothing else can have been read.
pub(super) fn check_seen(row: &ApprovalRow, digest: Option<&str>) -> Result<()> {
    match digest {
        Some(digest) if digest != row.digest => Err(Error::RequestChanged),
        None if row.edits > 0 => Err(Error::RequestChanged),
        _ => Ok(()),
    }
}

/// Applies an edit to the stored request and checks the result, without storing anything.
pub(super) async fn prepare(
    state: &State,
    approver: &Approver,
    txn: TxnId,
    digest: Option<&str>,
    edit: &RequestEdit,
) -> Result<PreparedEdit> {
    // Read before the checks that depend on it, and compared in the transaction that stores the edit.
    let generation = generations::read(&state.store).await?;
    let row = pending_row(state, approver, txn).await?;
    check_seen(&row, digest)?;
    let credential = current_credential(&state.store, &row).await?;
    check_kind(&row, &credential)?;
    let asked = open_request(&state.store, &state.keyring, &row).await?;
    let own = [row.credential_id];
    let redactor = Redactor::of_workspace(&state.store, &state.keyring, row.workspace_id, &own).await?;
    let max = state.config.pending_body_max;
    let edited = apply::apply(edit, &asked, &credential, &redactor, max)?;
    let digest = request_digest(&edited, row.method.as_str(), &credential.row, row.agent_id);
    if digest == row.digest {
        return Err(Error::field(FIELD, "changes nothing; approve without it"));
    }
    check_allowed(&state.net, &row, &credential, &edited).await?;
    check_room(state, &row, &edited).await?;
    let parts = RequestDifference::between(&asked, &edited).parts();
    let seen = row.digest.clone();
    let row = ApprovalRow { digest, edits: row.edits + 1, ..row };
    let content_type = content_type(&edited).map(|text| redactor.text(text));
    Ok(PreparedEdit { row, seen, parts, generation, request: edited, content_type })
}

/// The transaction, if this person may decide it and it is pending.
async fn pending_row(state: &State, approver: &Approver, txn: TxnId) -> Result<ApprovalRow> {
    let found = approvals::find(&state.store, approver.workspace, txn).await?;
    let row = found.ok_or(Error::not_found("transaction"))?;
    let mut tx = state.store.begin().await?;
    let policy = voters::policy_of(&mut tx, row.workspace_id, row.credential_id).await?;
    let voter = Voter::load(&mut tx, row.workspace_id, approver.user, row.credential_id).await?;
    voter.ok_or(Error::Unauthenticated)?.check(policy.as_ref())?;
    drop(tx);
    let row = expire::expire_if_due(state, row).await?;
    if row.state != ApprovalState::Pending {
        return Err(Error::AlreadyDecided(row.state));
    }
    Ok(row)
}

/// Reason that a request of this kind cannot be edited.
pub(super) fn uneditable(row: &ApprovalRow, is_tool: bool) -> Option<&'static str> {
    if row.kind == ApprovalKind::Sign {
        return Some("a payload to sign cannot be edited; deny it and say what to change");
    }
    if row.method.is(Method::WebSocket) {
        return Some("the handshake of a WebSocket cannot be edited; deny it and say what to change");
    }
    is_tool.then_some("the call of an MCP tool cannot be edited; deny it and say what to change")
}

fn check_kind(row: &ApprovalRow, credential: &ResolvedCredential) -> Result<()> {
    match uneditable(row, credential.options.mcp_url.is_some()) {
        Some(why) => Err(Error::field(FIELD, why)),
        None => Ok(()),
    }
}

/// Checks hosts, policy and egress guard again, as for a request of an agent.
async fn check_allowed(
    net: &pyxis_net::Client,
    row: &ApprovalRow,
    credential: &ResolvedCredential,
    edited: &StoredRequest,
) -> Result<()> {
    let method = row.method.known().ok_or(Error::InvalidMethod)?;
    let target = Target::parse(&edited.target).map_err(|error| Error::Internal(Box::new(error)))?;
    authorize::check_allowed_hosts(credential, &target).map_err(refused)?;
    if execute::is_denied(credential, method, &target, edited) {
        let detail = "the credential's policy denies the edited request; change the edit, or ask a manager to change \
                      the policy";
        return Err(Error::field(FIELD, detail));
    }
    let checked = net.check(&authorize::host_port(&target)).await;
    checked.map_err(|error| refused(error.into()))
}

/// A refusal of the edited request, in terms of the edit. A temporary failure stays what it is.
fn refused(error: Error) -> Error {
    match error {
        Error::HostNotAllowed(_) | Error::InvalidTarget(_) | Error::TargetNotAllowed(_) => {
            Error::field(FIELD, format!("the edited request cannot be sent: {error}"))
        }
        other => other,
    }
}

async fn check_room(state: &State, row: &ApprovalRow, edited: &StoredRequest) -> Result<()> {
    let newcomer = Newcomer {
        workspace: row.workspace_id,
        agent: row.agent_id,
        bytes: length(&edited.body),
        now: state.now(),
    };
    match approvals::bytes_limit(&state.store, &state.config.room, &newcomer).await? {
        Some(full) => Err(Error::QuotaExceeded(full)),
        None => Ok(()),
    }
}

fn length(body: &[u8]) -> i64 {
    i64::try_from(body.len()).unwrap_or(i64::MAX)
}

impl PreparedEdit {
    /// Stores the edit and removes the votes on the request before it. Returns the stored row and the number of votes.
    pub(super) async fn store(
        &self,
        state: &State,
        tx: &mut Tx,
        approver: &Approver,
    ) -> Result<(ApprovalRow, u64)> {
        let (workspace, txn) = (self.row.workspace_id, self.row.txn_id);
        let seal = |aad, bytes: &[u8]| state.keyring.seal(&*state.entropy, aad, bytes);
        let edited = EditedRequest {
            seen: &self.seen,
            digest: &self.row.digest,
            sealed_target: seal(&approvals::target_aad(workspace, txn), self.request.target.as_bytes()),
            sealed_request: seal(&approvals::request_aad(workspace, txn), self.request.encode().expose()),
            body_bytes: length(&self.request.body),
            content_type: self.content_type.as_deref(),
            user: approver.user,
            email: &approver.email,
            now: state.now(),
        };
        if !approvals::edit(tx, workspace, txn, &edited).await? {
            return Err(Error::RequestChanged);
        }
        let void = votes::remove_all(&mut *tx, workspace, txn).await?;
        let row = approvals::find(&mut *tx, workspace, txn).await?;
        Ok((row.ok_or(Error::not_found("transaction"))?, void))
    }
}
