//! `/admin/members` and `/admin/invitations`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::id::UserId;
use pyxis_core::mode::Role;
use pyxis_http::{Json, Path};
use pyxis_store::users::UserRow;
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::error::{Error, Result};
use crate::service::people;
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    email: String,
    role: Option<Role>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    role: Option<Role>,
    enabled: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct Shown {
    id: String,
    email: String,
    role: Role,
    enabled: bool,
    has_password: bool,
    created_at: String,
    last_sign_in_at: Option<String>,
    /// Only when it was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

#[derive(Serialize)]
pub(super) struct List {
    members: Vec<Shown>,
}

#[derive(Serialize)]
pub(super) struct Link {
    link: String,
}

fn shown(user: UserRow, link: Option<String>) -> Shown {
    Shown {
        id: user.id.to_string(),
        email: user.email,
        role: user.role,
        enabled: user.disabled_at.is_none(),
        has_password: user.password_hash.is_some(),
        created_at: user.created_at.to_rfc3339(),
        last_sign_in_at: user.last_sign_in_at.map(pyxis_core::clock::UnixMillis::to_rfc3339),
        link,
    }
}

fn id(text: &str) -> Result<UserId> {
    text.parse().map_err(|_| Error::NotFound("user"))
}

pub(super) async fn list(Extract(state): Extract<State>, Manager(person): Manager) -> Result<Json<List>> {
    let users = people::list(&state, person.workspace()).await?;
    Ok(Json(List { members: users.into_iter().map(|user| shown(user, None)).collect() }))
}

pub(super) async fn add(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Json(input): Json<Add>,
) -> Result<(StatusCode, Json<Shown>)> {
    let role = input.role.unwrap_or(Role::Admin);
    if role == Role::Owner && !person.is_owner() {
        return Err(Error::Forbidden("only an owner adds owners"));
    }
    let (user, link) = people::add(&state, &person.actor(), &input.email, role).await?;
    Ok((StatusCode::CREATED, Json(shown(user, Some(link.expose().clone())))))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(user): Path<String>,
    Json(input): Json<Update>,
) -> Result<Json<Shown>> {
    let user = id(&user)?;
    let mut now = people::get(&state, person.workspace(), user).await?;
    let touches_owner = now.role == Role::Owner || input.role == Some(Role::Owner);
    if touches_owner && !person.is_owner() {
        return Err(Error::Forbidden("only an owner changes owners"));
    }
    if let Some(role) = input.role {
        now = people::set_role(&state, &person.actor(), user, role).await?;
    }
    if let Some(enabled) = input.enabled {
        now = people::set_enabled(&state, &person.actor(), user, enabled).await?;
    }
    Ok(Json(shown(now, None)))
}

pub(super) async fn link(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(user): Path<String>,
) -> Result<(StatusCode, Json<Link>)> {
    let user = people::get(&state, person.workspace(), id(&user)?).await?;
    if user.role == Role::Owner && !person.is_owner() {
        return Err(Error::Forbidden("only an owner makes links for owners"));
    }
    let link = people::link(&state, &person.actor(), user.id).await?;
    Ok((StatusCode::CREATED, Json(Link { link: link.expose().clone() })))
}
