//! Rights of people on single credentials (`docs/reference/behavior/proxy.md#approvers`).

use pyxis_store::audit::AuditedStore;
use std::collections::BTreeMap;

use pyxis_core::approval_mode::Role;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::{CredentialId, UserId, WorkspaceId};
use pyxis_store::member_rights::{self, RightsRow};
use pyxis_store::users::{self, UserRow};
use pyxis_store::{Store, Tx, credentials};
use serde_json::json;

use crate::error::{Error, Result};
use pyxis_core::actor::Actor;

/// Rights of one person on one credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Right {
    /// True if the person may decide its approval requests.
    pub approve: bool,
    /// True if the person may propose policy changes.
    pub policy: bool,
}

/// Rights of one person, by credential.
#[derive(Clone, Debug)]
pub struct Rights {
    manager: bool,
    of: BTreeMap<CredentialId, Right>,
}

impl Rights {
    /// True if role and rights allow deciding requests for a credential.
    pub fn may_approve(&self, credential: CredentialId) -> bool {
        self.manager || self.on(credential).approve
    }

    /// True if the person may change the policy: a manager directly, others as a proposal.
    pub fn may_edit(&self, credential: CredentialId) -> bool {
        self.manager || self.on(credential).policy
    }

    /// Rights of a member on a credential.
    pub fn on(&self, credential: CredentialId) -> Right {
        self.of.get(&credential).copied().unwrap_or_default()
    }

    /// Credentials whose requests the person may see and decide; `None` for all.
    pub fn approvable(&self) -> Option<Vec<CredentialId>> {
        let mine = self.of.iter().filter(|(_, right)| right.approve).map(|(id, _)| *id);
        (!self.manager).then(|| mine.collect())
    }

    /// Credentials whose policies the person may change or propose to change; `None` for all.
    pub fn editable(&self) -> Option<Vec<CredentialId>> {
        let mine = self.of.iter().filter(|(_, right)| right.policy).map(|(id, _)| *id);
        (!self.manager).then(|| mine.collect())
    }

    /// Credentials on which a member has rights.
    pub fn assigned(&self) -> impl Iterator<Item = (CredentialId, Right)> {
        self.of.iter().map(|(id, right)| (*id, *right))
    }
}

fn right(row: &RightsRow) -> Right {
    Right { approve: row.can_approve, policy: row.can_edit_policy }
}

pub async fn load(store: &Store, user: &UserRow) -> Result<Rights> {
    if user.role.is_manager() {
        return Ok(Rights { manager: true, of: BTreeMap::new() });
    }
    let rows = member_rights::list_for_user(store, user.workspace_id, user.id).await?;
    let of = rows.iter().map(|row| (row.credential_id, right(row))).collect();
    Ok(Rights { manager: false, of })
}

/// Rights of everyone in a workspace.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<(UserId, CredentialId, Right)>> {
    let rows = member_rights::list(store, workspace).await?;
    Ok(rows.iter().map(|row| (row.user_id, row.credential_id, right(row))).collect())
}

/// Sets the rights of a member on a credential. Neither right removes the entry.
pub async fn set(
    db: &AuditedStore,
    actor: &Actor,
    user: UserId,
    name: &str,
    wanted: Right,
) -> Result<UserRow> {
    let person = users::find(&db.store, actor.workspace, user).await?.ok_or(Error::not_found("user"))?;
    if person.role != Role::Member {
        return Err(Error::Conflict("only members have rights; owners and admins may do everything"));
    }
    let mut change = db.begin(actor).await?;
    let credential = put(&mut change.tx, &person, name, wanted).await?;
    let Right { approve, policy } = wanted;
    let detail = json!({ "email": person.email, "approve": approve, "policy": policy });
    change.commit_about(AuditEvent::UserRightsChanged, Some(&credential), detail).await?;
    Ok(person)
}

/// Stores one person's rights on a credential. Returns the credential's stored name.
pub(super) async fn put(tx: &mut Tx, person: &UserRow, name: &str, wanted: Right) -> Result<String> {
    let found = credentials::find_by_name(&mut *tx, person.workspace_id, name).await?;
    let credential = found.ok_or(Error::not_found("credential"))?;
    let row = RightsRow {
        workspace_id: person.workspace_id,
        user_id: person.id,
        credential_id: credential.id,
        can_approve: wanted.approve,
        can_edit_policy: wanted.policy,
    };
    member_rights::put(tx, &row).await?;
    Ok(credential.name)
}
