//! People of a workspace and the links by which they first sign in.

use std::time::Duration;

use pyxis_core::entropy;
use pyxis_core::id::{UserId, WorkspaceId};
use pyxis_core::mode::Role;
use pyxis_core::secret::SecretString;
use pyxis_store::sign_in_links::{self, SignInLinkRow};
use pyxis_store::users::{self, NewUser, UserRow};
use pyxis_store::{StoreError, sessions};
use serde_json::json;

use crate::actor::{Actor, Change};
use crate::error::{Error, Result};
use crate::resolve::key_hash;
use crate::state::State;

/// How long a sign-in link works.
pub const LINK_LIFETIME: Duration = Duration::from_secs(48 * 3600);

/// Adds a person and makes the link by which they sign in first.
pub async fn add(state: &State, actor: &Actor, email: &str, role: Role) -> Result<(UserRow, SecretString)> {
    let email = check_email(email)?;
    if role == Role::Member {
        return Err(Error::field("role", "owner or admin"));
    }
    let now = state.now();
    let id = UserId::new(now, &*state.entropy);
    let mut change = Change::begin(state, actor).await?;
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
    let link = insert_link(&mut change, id).await?;
    change.commit("user.added", None, json!({ "email": email, "role": role })).await?;
    Ok((get(state, actor.workspace, id).await?, link))
}

/// A new sign-in link for a person.
pub async fn link(state: &State, actor: &Actor, id: UserId) -> Result<SecretString> {
    let user = get(state, actor.workspace, id).await?;
    let mut change = Change::begin(state, actor).await?;
    let link = insert_link(&mut change, id).await?;
    change.commit("user.link_created", None, json!({ "email": user.email })).await?;
    Ok(link)
}

async fn insert_link(change: &mut Change<'_>, user: UserId) -> Result<SecretString> {
    let state = change.state;
    let token = SecretString::new(entropy::token::<32>(&*state.entropy, ""));
    let now = state.now();
    let link = SignInLinkRow {
        token_hash: entropy::hex(&key_hash(token.expose())),
        workspace_id: change.actor.workspace,
        user_id: user,
        created_at: now,
        expires_at: now.plus(LINK_LIFETIME),
        used_at: None,
    };
    sign_in_links::insert(&mut change.tx, &link).await?;
    Ok(SecretString::new(format!("{}/link/{}", state.config.base_url, token.expose())))
}

/// One person.
pub async fn get(state: &State, workspace: WorkspaceId, id: UserId) -> Result<UserRow> {
    users::find(&state.store, workspace, id).await?.ok_or(Error::NotFound("user"))
}

/// One person, by e-mail address.
pub async fn by_email(state: &State, workspace: WorkspaceId, email: &str) -> Result<UserRow> {
    users::find_by_email(&state.store, workspace, email).await?.ok_or(Error::NotFound("user"))
}

/// Everybody in a workspace.
pub async fn list(state: &State, workspace: WorkspaceId) -> Result<Vec<UserRow>> {
    Ok(users::list(&state.store, workspace).await?)
}

/// Lets a person in or keeps them out; keeping out ends their sessions. The last enabled owner stays.
pub async fn set_enabled(state: &State, actor: &Actor, id: UserId, enabled: bool) -> Result<UserRow> {
    let user = get(state, actor.workspace, id).await?;
    if !enabled {
        keep_an_owner(state, &user).await?;
    }
    let mut change = Change::begin(state, actor).await?;
    let disabled_at = (!enabled).then(|| state.now());
    users::set_disabled(&mut change.tx, actor.workspace, id, disabled_at).await?;
    if !enabled {
        sessions::remove_for_user(&mut change.tx, actor.workspace, id).await?;
    }
    let kind = if enabled { "user.enabled" } else { "user.disabled" };
    change.commit(kind, None, json!({ "email": user.email })).await?;
    get(state, actor.workspace, id).await
}

/// Changes a person's role, which ends their sessions.
pub async fn set_role(state: &State, actor: &Actor, id: UserId, role: Role) -> Result<UserRow> {
    if role == Role::Member {
        return Err(Error::field("role", "owner or admin"));
    }
    let user = get(state, actor.workspace, id).await?;
    if role != Role::Owner {
        keep_an_owner(state, &user).await?;
    }
    let mut change = Change::begin(state, actor).await?;
    users::set_role(&mut change.tx, actor.workspace, id, role).await?;
    sessions::remove_for_user(&mut change.tx, actor.workspace, id).await?;
    change.commit("user.role_changed", None, json!({ "email": user.email, "role": role })).await?;
    get(state, actor.workspace, id).await
}

async fn keep_an_owner(state: &State, leaving: &UserRow) -> Result<()> {
    if leaving.role != Role::Owner {
        return Ok(());
    }
    let others = list(state, leaving.workspace_id).await?;
    let another =
        |user: &UserRow| user.id != leaving.id && user.role == Role::Owner && user.disabled_at.is_none();
    if others.iter().any(another) {
        Ok(())
    } else {
        Err(Error::Conflict("a workspace needs an enabled owner"))
    }
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
