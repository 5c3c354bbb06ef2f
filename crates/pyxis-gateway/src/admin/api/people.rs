//! `/admin/members` and `/admin/invitations`.

use std::collections::BTreeMap;

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, UserId, WorkspaceId};
use pyxis_http::{Json, Path};
use pyxis_store::users::UserRow;
use serde::{Deserialize, Serialize};

use super::Manager;
use super::caller::ManagerInPerson;
use crate::admin::callers::Caller;
use crate::admin::rights::{self, Right};
use crate::admin::{credentials, people};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// What a member may do with one credential.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RightResponse {
    name: String,
    #[serde(default)]
    approve: bool,
    #[serde(default)]
    policy: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddMemberRequest {
    email: String,
    role: Option<Role>,
    #[serde(default)]
    credentials: Vec<RightResponse>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateMemberRequest {
    role: Option<Role>,
    enabled: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PutRights {
    #[serde(default)]
    approve: bool,
    #[serde(default)]
    policy: bool,
}

#[derive(Serialize)]
pub(super) struct MemberResponse {
    id: String,
    email: String,
    role: Role,
    enabled: bool,
    has_password: bool,
    created_at: String,
    last_sign_in_at: Option<String>,
    /// What a member was granted; owners and admins need no grants.
    credentials: Vec<RightResponse>,
    /// Only when it was just made.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

#[derive(Serialize)]
pub(super) struct MemberListResponse {
    members: Vec<MemberResponse>,
}

#[derive(Serialize)]
pub(super) struct InvitationResponse {
    id: String,
    email: String,
    role: Role,
    created_at: String,
    /// Null: no link works any more.
    expires_at: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Invitations {
    invitations: Vec<InvitationResponse>,
}

#[derive(Serialize)]
pub(super) struct Link {
    link: String,
}

/// The grants of everybody in a workspace, with the credentials' names.
struct Grants {
    names: BTreeMap<CredentialId, String>,
    all: Vec<(UserId, CredentialId, Right)>,
}

impl Grants {
    async fn load(state: &State, workspace: WorkspaceId) -> Result<Self> {
        let names = credentials::list(state, workspace).await?;
        let names = names.into_iter().map(|row| (row.id, row.name)).collect();
        Ok(Self { names, all: rights::list(state, workspace).await? })
    }

    fn of(&self, user: UserId) -> Vec<RightResponse> {
        let mine = self.all.iter().filter(|(whose, ..)| *whose == user);
        let named = mine.filter_map(|(_, credential, right)| Some((self.names.get(credential)?, right)));
        let mut granted: Vec<_> = named
            .map(|(name, right)| RightResponse {
                name: name.clone(),
                approve: right.approve,
                policy: right.policy,
            })
            .collect();
        granted.sort_by(|a, b| a.name.cmp(&b.name));
        granted
    }
}

fn shown(user: UserRow, grants: &Grants, link: Option<String>) -> MemberResponse {
    MemberResponse {
        credentials: grants.of(user.id),
        id: user.id.to_string(),
        email: user.email,
        role: user.role,
        enabled: user.disabled_at.is_none(),
        has_password: user.password_hash.is_some(),
        created_at: user.created_at.to_rfc3339(),
        last_sign_in_at: user.last_sign_in_at.map(UnixMillis::to_rfc3339),
        link,
    }
}

async fn one(state: &State, user: UserRow, link: Option<String>) -> Result<Json<MemberResponse>> {
    let grants = Grants::load(state, user.workspace_id).await?;
    Ok(Json(shown(user, &grants, link)))
}

fn id(text: &str) -> Result<UserId> {
    text.parse().map_err(|_| Error::NotFound("user"))
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<MemberListResponse>> {
    let users = people::list(&state, person.workspace()).await?;
    let grants = Grants::load(&state, person.workspace()).await?;
    Ok(Json(MemberListResponse {
        members: users.into_iter().map(|user| shown(user, &grants, None)).collect(),
    }))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(user): Path<String>,
) -> Result<Json<MemberResponse>> {
    let user = people::get(&state, person.workspace(), id(&user)?).await?;
    one(&state, user, None).await
}

pub(super) async fn add(
    Extract(state): Extract<State>,
    ManagerInPerson(person): ManagerInPerson,
    Json(input): Json<AddMemberRequest>,
) -> Result<(StatusCode, Json<MemberResponse>)> {
    let role = input.role.unwrap_or(Role::Admin);
    if role == Role::Owner && !person.is_owner() {
        return Err(Error::Forbidden("only an owner can add owners"));
    }
    let right = |granted: &RightResponse| Right { approve: granted.approve, policy: granted.policy };
    let grants: Vec<_> = input.credentials.iter().map(|one| (one.name.clone(), right(one))).collect();
    let (user, link) = people::invite(&state, &person.actor(), &input.email, role, &grants).await?;
    Ok((StatusCode::CREATED, one(&state, user, Some(link.expose().clone())).await?))
}

/// The person, if the caller may change them: owners only for an owner.
async fn changeable(state: &State, caller: &Caller, user: &str) -> Result<UserRow> {
    let user = people::get(state, caller.workspace(), id(user)?).await?;
    if user.role == Role::Owner && !caller.is_owner() {
        return Err(Error::Forbidden("only an owner can change owners or create links for them"));
    }
    Ok(user)
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(user): Path<String>,
    Json(input): Json<UpdateMemberRequest>,
) -> Result<Json<MemberResponse>> {
    let mut now = changeable(&state, &person, &user).await?;
    if input.role == Some(Role::Owner) && !person.is_owner() {
        return Err(Error::Forbidden("only an owner can make someone an owner"));
    }
    if let Some(role) = input.role {
        now = people::set_role(&state, &person.actor(), now.id, role).await?;
    }
    if let Some(enabled) = input.enabled {
        now = people::set_enabled(&state, &person.actor(), now.id, enabled).await?;
    }
    one(&state, now, None).await
}

pub(super) async fn link(
    Extract(state): Extract<State>,
    ManagerInPerson(person): ManagerInPerson,
    Path(user): Path<String>,
) -> Result<(StatusCode, Json<Link>)> {
    let user = changeable(&state, &person, &user).await?;
    let link = people::link(&state, &person.actor(), user.id).await?;
    Ok((StatusCode::CREATED, Json(Link { link: link.expose().clone() })))
}

pub(super) async fn put_rights(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path((user, credential)): Path<(String, String)>,
    Json(input): Json<PutRights>,
) -> Result<Json<MemberResponse>> {
    let wanted = Right { approve: input.approve, policy: input.policy };
    let user = rights::set(&state, &person.actor(), id(&user)?, &credential, wanted).await?;
    one(&state, user, None).await
}

pub(super) async fn remove_rights(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path((user, credential)): Path<(String, String)>,
) -> Result<StatusCode> {
    rights::set(&state, &person.actor(), id(&user)?, &credential, Right::default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn invitations(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<Invitations>> {
    let waiting = people::invitations(&state, person.workspace()).await?;
    let invitations = waiting
        .into_iter()
        .map(|invitation| InvitationResponse {
            id: invitation.user.id.to_string(),
            email: invitation.user.email,
            role: invitation.user.role,
            created_at: invitation.user.created_at.to_rfc3339(),
            expires_at: invitation.expires_at.map(UnixMillis::to_rfc3339),
        })
        .collect();
    Ok(Json(Invitations { invitations }))
}

pub(super) async fn withdraw_invitation(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Path(user): Path<String>,
) -> Result<StatusCode> {
    let user = changeable(&state, &person, &user).await?;
    people::withdraw_invitation(&state, &person.actor(), user.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
