//! People of a workspace, their invitations, and their sign-in links.

use pyxis_store::audit::{AuditedStore, Change};
use std::time::Duration;

use pyxis_core::approval_mode::Role;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy;
use pyxis_core::hex;
use pyxis_core::id::{UserId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_store::sign_in_links::{self, SignInLinkRow};
use pyxis_store::users::{self, NewUser, UserRow};
use pyxis_store::{Store, StoreError, Tx, connections, member_rights, sessions};
use serde_json::{Value, json};

use super::rights::{self, Right};
use crate::error::{Error, Result};
use crate::runtime::resolve::key_hash;
use crate::runtime::state::State;
use pyxis_core::actor::Actor;
use pyxis_core::admin_error::Missing;

/// Lifetime of a sign-in link.
pub const LINK_LIFETIME: Duration = Duration::from_hours(48);

/// Error when a link cannot be created or opened.
pub(super) const OPENED_BY_ANOTHER: &str = "another person made the link that opened this account; they can \
    make the next one, or use pyxis user link";

/// Name of a credential and a member's rights on it.
pub type Grant = (String, Right);

/// An invitation that was not used yet.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// Invited user.
    pub user: UserRow,
    /// Expiry of the newest valid link. `None` if no link is valid, so that a new one is needed.
    pub expires_at: Option<UnixMillis>,
    /// Creator of that link; `None` for the command line.
    pub made_by: Option<UserId>,
}

/// Adds a person and creates their first sign-in link.
pub async fn add(state: &State, actor: &Actor, email: &str, role: Role) -> Result<(UserRow, SecretString)> {
    invite(state, actor, email, role, &[]).await
}

/// Adds a person with a member's rights and creates their first sign-in link.
pub async fn invite(
    state: &State,
    actor: &Actor,
    email: &str,
    role: Role,
    grants: &[Grant],
) -> Result<(UserRow, SecretString)> {
    let email = check_email(email)?;
    if role != Role::Member && !grants.is_empty() {
        return Err(Error::field(
            "credentials",
            "only members have rights; owners and admins may do everything",
        ));
    }
    let now = state.now();
    let id = UserId::new(now, &*state.entropy);
    let mut change = state.audited.begin(actor).await?;
    let new = NewUser {
        id,
        workspace_id: actor.workspace,
        email: email.clone(),
        role,
        password_hash: None,
        created_at: now,
    };
    match users::insert(&mut change.tx, &new).await {
        Err(StoreError::Conflict { .. }) => return Err(Error::NameTaken(email)),
        other => other?,
    }
    let user = users::find(&mut change.tx, actor.workspace, id).await?.ok_or(Error::not_found("user"))?;
    let mut granted = Vec::new();
    for (name, right) in grants {
        let name = match rights::put(&mut change.tx, &user, name, *right).await {
            Err(Error::NotFound(_)) => {
                return Err(Error::field("credentials", format!("unknown credential {name}")));
            }
            other => other?,
        };
        granted.push(json!({ "credential": name, "approve": right.approve, "policy": right.policy }));
    }
    let link = insert_link(state, &mut change, id).await?;
    let detail = json!({ "email": email, "role": role, "credentials": granted });
    change.commit(AuditEvent::UserAdded, detail).await?;
    Ok((user, link))
}

/// People who were added and have never signed in, newest first.
pub async fn invitations(store: &Store, workspace: WorkspaceId, now: UnixMillis) -> Result<Vec<Invitation>> {
    let links = sign_in_links::list_open(store, workspace, now).await?;
    let mut waiting: Vec<_> = list(store, workspace)
        .await?
        .into_iter()
        .filter(|user| user.last_sign_in_at.is_none() && user.disabled_at.is_none())
        .map(|user| {
            let link = links.iter().rev().find(|link| link.user_id == user.id);
            let (expires_at, made_by) =
                (link.map(|link| link.expires_at), link.and_then(|link| link.made_by));
            Invitation { user, expires_at, made_by }
        })
        .collect();
    waiting.reverse();
    Ok(waiting)
}

/// Withdraws an invitation, which removes the person and their links.
pub async fn withdraw_invitation(db: &AuditedStore, actor: &Actor, id: UserId) -> Result<()> {
    let user = users::find(&db.store, actor.workspace, id).await?;
    let user = user.ok_or(Error::not_found("invitation"))?;
    let mut change = begin(db, actor).await?;
    if !users::remove_invited(&mut change.tx, actor.workspace, id).await? {
        return Err(Error::Conflict("this person has already signed in; disable them instead"));
    }
    keep_an_owner(&mut change.tx, &user).await?;
    Ok(change.commit(AuditEvent::UserInvitationWithdrawn, json!({ "email": user.email })).await?)
}

/// Creates a sign-in link for a person. No one can create one for themselves, because that would turn a session or
/// token into another session. If an account was opened through one person's link, no other person can create the next,
/// because the account records only one.
pub async fn link(state: &State, actor: &Actor, id: UserId) -> Result<SecretString> {
    let user = get(&state.store, actor.workspace, id).await?;
    if let Some(maker) = actor.user_id() {
        if maker == id {
            return Err(Error::Forbidden(
                "no one can make their own sign-in link; ask another owner or admin, or use pyxis user link",
            ));
        }
        if user.opened_by.is_some_and(|by| by != maker) {
            return Err(Error::Conflict(OPENED_BY_ANOTHER));
        }
    }
    let mut change = state.audited.begin(actor).await?;
    let link = insert_link(state, &mut change, id).await?;
    change.commit(AuditEvent::UserLinkCreated, json!({ "email": user.email })).await?;
    Ok(link)
}

/// Creates a sign-in link for a person, from the command line. Earlier links and bearer sessions that were never used
/// stop working: no one received them.
pub async fn replace_unused_access(state: &State, actor: &Actor, id: UserId) -> Result<SecretString> {
    let user = get(&state.store, actor.workspace, id).await?;
    let mut change = state.audited.begin(actor).await?;
    let links = sign_in_links::remove_unused(&mut change.tx, actor.workspace, id).await?;
    let sessions = sessions::remove_unused_bearer(&mut change.tx, actor.workspace, id).await?;
    let link = insert_link(state, &mut change, id).await?;
    let detail = json!({ "email": user.email, "removed_links": links, "removed_sessions": sessions });
    change.commit(AuditEvent::UserLinkCreated, detail).await?;
    Ok(link)
}

async fn insert_link(state: &State, change: &mut Change<'_>, user: UserId) -> Result<SecretString> {
    let token = SecretString::new(entropy::token::<32>(&*state.entropy, ""));
    let now = state.now();
    let link = SignInLinkRow {
        token_hash: hex::encode(&key_hash(token.expose())),
        workspace_id: change.actor.workspace,
        user_id: user,
        created_at: now,
        expires_at: now.plus(LINK_LIFETIME),
        used_at: None,
        made_by: change.actor.user_id(),
    };
    sign_in_links::insert(&mut change.tx, &link).await?;
    Ok(SecretString::new(format!("{}/link/{}", state.config.base_url, token.expose())))
}

/// The person with this id.
pub async fn get(store: &Store, workspace: WorkspaceId, id: UserId) -> Result<UserRow> {
    users::find(store, workspace, id).await?.ok_or(Error::not_found("user"))
}

/// The person with this email address, for managers: the refusal names the nearest one.
pub async fn by_email(store: &Store, workspace: WorkspaceId, email: &str) -> Result<UserRow> {
    if let Some(user) = users::find_by_email(store, workspace, email).await? {
        return Ok(user);
    }
    let known = list(store, workspace).await?;
    Err(Error::NotFound(Missing::with_name("user", email, known.iter().map(|user| user.email.as_str()))))
}

/// Everyone in a workspace.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<UserRow>> {
    Ok(users::list(store, workspace).await?)
}

/// Enables or disables a user. Disabling ends their sessions and the connections that they allowed. The last enabled owner
/// cannot be disabled.
pub async fn set_enabled(db: &AuditedStore, actor: &Actor, id: UserId, enabled: bool) -> Result<UserRow> {
    let user = get(&db.store, actor.workspace, id).await?;
    let mut change = begin(db, actor).await?;
    let disabled_at = (!enabled).then(|| db.now());
    users::set_disabled(&mut change.tx, actor.workspace, id, disabled_at).await?;
    if !enabled {
        sessions::remove_for_user(&mut change.tx, actor.workspace, id).await?;
        keep_an_owner(&mut change.tx, &user).await?;
    }
    let mut detail = json!({ "email": user.email });
    if !enabled {
        end_connections(&mut change.tx, &user, &mut detail).await?;
    }
    let event = if enabled { AuditEvent::UserEnabled } else { AuditEvent::UserDisabled };
    change.commit(event, detail).await?;
    get(&db.store, actor.workspace, id).await
}

/// Changes a person's role. Ends their sessions and removes their rights as a member. The connections that they allowed
/// end if they may no longer allow any.
pub async fn set_role(db: &AuditedStore, actor: &Actor, id: UserId, role: Role) -> Result<UserRow> {
    let user = get(&db.store, actor.workspace, id).await?;
    let mut change = begin(db, actor).await?;
    users::set_role(&mut change.tx, actor.workspace, id, role).await?;
    member_rights::remove_for_user(&mut change.tx, actor.workspace, id).await?;
    sessions::remove_for_user(&mut change.tx, actor.workspace, id).await?;
    keep_an_owner(&mut change.tx, &user).await?;
    let mut detail = json!({ "email": user.email, "from": user.role, "role": role });
    if role == Role::Member {
        end_connections(&mut change.tx, &user, &mut detail).await?;
    }
    change.commit(AuditEvent::UserRoleChanged, detail).await?;
    get(&db.store, actor.workspace, id).await
}

/// Ends the connections that a person allowed: the programs may be in that person's own accounts.
async fn end_connections(tx: &mut Tx, user: &UserRow, detail: &mut Value) -> Result<()> {
    let ended = connections::remove_allowed_by(tx, user.workspace_id, &user.email).await?;
    if ended > 0 {
        detail["connections_ended"] = ended.into();
    }
    Ok(())
}

/// Begins a change with the workspace's users locked, so that two owners cannot leave at the same time.
async fn begin<'a>(db: &'a AuditedStore, actor: &'a Actor) -> Result<Change<'a>> {
    let mut change = db.begin(actor).await?;
    users::lock(&mut change.tx, actor.workspace).await?;
    Ok(change)
}

/// Refuses a change to `changed` if it leaves the workspace without an owner.
async fn keep_an_owner(tx: &mut Tx, changed: &UserRow) -> Result<()> {
    if changed.role != Role::Owner {
        return Ok(());
    }
    let left = users::list(&mut *tx, changed.workspace_id).await?;
    if left.iter().any(|user| user.role == Role::Owner && user.disabled_at.is_none()) {
        return Ok(());
    }
    Err(Error::Conflict("a workspace needs an enabled owner; add or enable another one first"))
}

fn check_email(email: &str) -> Result<String> {
    let email = email.trim();
    let plausible = email.len() <= 254
        && !email.chars().any(|c| c.is_whitespace() || c.is_control())
        && email
            .split_once('@')
            .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    if plausible { Ok(email.to_owned()) } else { Err(Error::field("email", "must be an e-mail address")) }
}
