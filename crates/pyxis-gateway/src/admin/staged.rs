//! Policies proposed by members: stored, shown as a difference, and applied only after the same member's passkey has
//! confirmed them (`docs/reference/behavior/proxy.md#policy-changes`).

use crate::config::Config;
use pyxis_core::clock::UnixMillis;
use pyxis_store::Store;
use pyxis_store::audit::AuditedStore;
use std::time::Duration;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{StagedPolicyId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_store::credentials::CredentialRow;
use pyxis_store::staged_policies::{self, StagedPolicyRow};
use pyxis_store::users::UserRow;
use serde_json::json;

use super::callers::Caller;
use super::{credentials, people, policies, rights, satisfiability};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Time for which a proposal waits for its author's passkey.
pub const LIFETIME: Duration = Duration::from_hours(24);

/// A proposal with its context.
#[derive(Clone, Debug)]
pub struct Staged {
    /// Stored row.
    pub row: StagedPolicyRow,
    /// Credential of the policy.
    pub credential: CredentialRow,
    /// User who proposed it.
    pub by: UserRow,
    /// The proposed policy.
    pub policy: Policy,
    /// Current policy; `None` if there is none.
    pub present: Option<Policy>,
    /// True if the policy has changed since the proposal, so that it can no longer be applied.
    pub outdated: bool,
}

impl Staged {
    /// URL at which the author confirms it.
    pub fn confirm_url(&self, config: &Config) -> String {
        format!("{}/app/staged/{}", config.base_url, self.row.id)
    }

    /// Text that the author's passkey confirms: exactly this document on exactly this version.
    pub(crate) fn binding(&self) -> String {
        let document = pyxis_core::digest::sha256_hex(self.row.document.as_bytes());
        format!("policy {} over {} {document}", self.row.id, self.row.base_version)
    }
}

/// Stores `policy` as the caller's proposal for a credential. Replaces an earlier one.
pub async fn propose(state: &State, caller: &Caller, name: &str, policy: &Policy) -> Result<Staged> {
    let credential = credentials::get(&state.store, caller.workspace(), name).await?;
    check_right(&state.store, &caller.user, &credential).await?;
    policies::check_chat(state, &credential, policy).await?;
    satisfiability::check(&state.store, caller.workspace(), credential.id, policy).await?;
    let present = policies::get(&state.store, caller.workspace(), name).await?;
    let now = state.now();
    let row = StagedPolicyRow {
        id: StagedPolicyId::new(now, &*state.entropy),
        workspace_id: caller.workspace(),
        credential_id: credential.id,
        user_id: caller.user.id,
        document: serde_json::to_string(policy).map_err(|error| Error::Internal(error.into()))?,
        base_version: present.as_ref().map_or(0, |(row, _)| row.version),
        created_at: now,
        expires_at: now.plus(LIFETIME),
    };
    let actor = caller.actor();
    let mut change = state.audited.begin(&actor).await?;
    staged_policies::put(&mut change.tx, &row).await?;
    let detail = json!({ "staged": row.id, "over": row.base_version, "policy": policy });
    change.commit_about(AuditEvent::PolicyProposed, Some(&credential.name), detail).await?;
    get(&state.store, caller.workspace(), row.id, state.now()).await
}

async fn check_right(store: &Store, user: &UserRow, credential: &CredentialRow) -> Result<()> {
    if rights::load(store, user).await?.may_edit(credential.id) {
        return Ok(());
    }
    Err(Error::Forbidden("you do not have the Policy right for this credential; ask an owner or admin"))
}

/// The proposal with this id.
pub async fn get(
    store: &Store,
    workspace: WorkspaceId,
    id: StagedPolicyId,
    now: UnixMillis,
) -> Result<Staged> {
    let found = staged_policies::find(store, workspace, id, now).await?;
    load(store, found.ok_or(Error::not_found("staged policy"))?).await
}

/// Pending proposals: all of them for managers, their own for members.
pub async fn list(store: &Store, caller: &Caller, now: UnixMillis) -> Result<Vec<Staged>> {
    let mut all = Vec::new();
    for row in staged_policies::list(store, caller.workspace(), now).await? {
        if caller.user.role.is_manager() || row.user_id == caller.user.id {
            all.push(load(store, row).await?);
        }
    }
    Ok(all)
}

async fn load(store: &Store, row: StagedPolicyRow) -> Result<Staged> {
    let credential = credentials::by_id(store, row.workspace_id, row.credential_id).await?;
    let by = people::get(store, row.workspace_id, row.user_id).await?;
    let present = policies::get(store, row.workspace_id, &credential.name).await?;
    let policy =
        Policy::from_json(row.document.as_bytes()).map_err(|error| Error::Internal(Box::new(error)))?;
    let version = present.as_ref().map_or(0, |(row, _)| row.version);
    let outdated = version != row.base_version;
    Ok(Staged { row, credential, by, policy, present: present.map(|(_, policy)| policy), outdated })
}

/// Withdraws a proposal. Allowed for its author and managers.
pub async fn withdraw(db: &AuditedStore, caller: &Caller, id: StagedPolicyId) -> Result<()> {
    let staged = get(&db.store, caller.workspace(), id, db.now()).await?;
    if staged.row.user_id != caller.user.id && !caller.user.role.is_manager() {
        return Err(Error::not_found("staged policy"));
    }
    let actor = caller.actor();
    let mut change = db.begin(&actor).await?;
    if !staged_policies::remove(&mut change.tx, caller.workspace(), id).await? {
        return Err(Error::not_found("staged policy"));
    }
    let detail = json!({ "staged": id, "by": staged.by.email });
    Ok(change
        .commit_about(AuditEvent::PolicyProposalWithdrawn, Some(&staged.credential.name), detail)
        .await?)
}
