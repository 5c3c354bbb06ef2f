//! `/admin/members` and `/admin/invitations`.

use std::collections::BTreeMap;

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::approval_mode::Role;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{CredentialId, UserId, WorkspaceId};
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path};
use pyxis_store::Store;
use pyxis_store::users::UserRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::ManagerInPerson;
use crate::admin::callers::Caller;
use crate::admin::rights::{self, Right};
use crate::admin::{credentials, people};
use crate::error::{Error, Result};
use crate::problems::{InvitationUsed, LastOwner, NameTaken, NoMember};
use crate::runtime::state::State;

/// What a member may do with one credential.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MemberGrant)]
pub(super) struct RightResponse {
    /// The credential.
    #[schema(example = "github")]
    name: String,
    /// Decide its requests.
    #[serde(default)]
    #[schema(default = false)]
    approve: bool,
    /// Propose changes of its policy.
    #[serde(default)]
    #[schema(default = false)]
    policy: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MemberInput)]
pub(super) struct AddMemberRequest {
    #[schema(max_length = 254)]
    email: String,
    #[schema(nullable = false, default = "admin")]
    role: Option<Role>,
    /// Rights per credential; for members only.
    #[serde(default)]
    #[schema(default = json!([]))]
    credentials: Vec<RightResponse>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MemberPatch)]
pub(super) struct UpdateMemberRequest {
    #[schema(nullable = false)]
    role: Option<Role>,
    #[schema(nullable = false)]
    enabled: Option<bool>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MemberRights)]
pub(super) struct PutRights {
    #[serde(default)]
    #[schema(default = false)]
    approve: bool,
    #[serde(default)]
    #[schema(default = false)]
    policy: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Member)]
pub(super) struct MemberResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(example = "ada@example.org")]
    email: String,
    role: Role,
    enabled: bool,
    has_password: bool,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Option<Time>, required)]
    last_sign_in_at: Option<String>,
    /// Rights of a member per credential; owners and admins need none.
    credentials: Vec<RightResponse>,
    /// Only in the response that creates it. Valid once, for 48 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", nullable = false, example = "https://pyxis.example.org/link/example-token")]
    link: Option<String>,
}

impl Listed for MemberResponse {
    const MEMBER: &'static str = "members";
}

pub(super) type MemberListResponse = CompleteList<MemberResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = Invitation)]
pub(super) struct InvitationResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(example = "ada@example.org")]
    email: String,
    role: Role,
    #[schema(value_type = Time)]
    created_at: String,
    /// Null if no link is valid; create another one.
    #[schema(value_type = Option<Time>, required)]
    expires_at: Option<String>,
}

impl Listed for InvitationResponse {
    const MEMBER: &'static str = "invitations";
}

pub(super) type Invitations = CompleteList<InvitationResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = SignInLink)]
pub(super) struct Link {
    #[schema(format = "uri", example = "https://pyxis.example.org/link/example-token")]
    link: String,
}

/// The grants of everybody in a workspace, with the credentials' names.
struct Grants {
    names: BTreeMap<CredentialId, String>,
    all: Vec<(UserId, CredentialId, Right)>,
}

impl Grants {
    async fn load(store: &Store, workspace: WorkspaceId) -> Result<Self> {
        let names = credentials::list(store, workspace).await?;
        let names = names.into_iter().map(|row| (row.id, row.name)).collect();
        Ok(Self { names, all: rights::list(store, workspace).await? })
    }

    fn rights_of(&self, user: UserId) -> Vec<RightResponse> {
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

fn member_response(user: UserRow, grants: &Grants, link: Option<String>) -> MemberResponse {
    MemberResponse {
        credentials: grants.rights_of(user.id),
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

async fn load_member(store: &Store, user: UserRow, link: Option<String>) -> Result<Json<MemberResponse>> {
    let grants = Grants::load(store, user.workspace_id).await?;
    Ok(Json(member_response(user, &grants, link)))
}

fn id(text: &str) -> Result<UserId> {
    text.parse().map_err(|_| Error::not_found("user"))
}

/// List members.
#[utoipa::path(
    get,
    path = "/admin/members",
    tag = "People",
    operation_id = "listMembers",
    security(("session" = [])),
    responses((status = 200, description = "All members of the workspace.", body = MemberListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<MemberListResponse>> {
    let users = people::list(&state.store, actor.workspace).await?;
    let grants = Grants::load(&state.store, actor.workspace).await?;
    Ok(Json(users.into_iter().map(|user| member_response(user, &grants, None)).collect()))
}

/// Show a member.
#[utoipa::path(
    get,
    path = "/admin/members/{id}",
    tag = "People",
    operation_id = "showMember",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The member.")),
    responses(
        (status = 200, description = "The member after the change.", body = MemberResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(user): Path<String>,
) -> Result<Json<MemberResponse>> {
    let user = people::get(&state.store, actor.workspace, id(&user)?).await?;
    load_member(&state.store, user, None).await
}

/// Add a member and create their sign-in link.
///
/// Only owners can add owners.
#[utoipa::path(
    post,
    path = "/admin/members",
    tag = "People",
    operation_id = "addMember",
    security(("session" = [])),
    request_body(content = AddMemberRequest, example = json!({"email": "ada@example.org", "role": "admin"})),
    responses(
        (status = 201, description = "The member, with the link for their first sign-in, shown once.", body = MemberResponse),
        (status = 409, response = NameTaken),
    ),
)]
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
    Ok((StatusCode::CREATED, load_member(&state.store, user, Some(link.expose().clone())).await?))
}

/// Invite a person.
///
/// The same as adding a member.
#[utoipa::path(
    post,
    path = "/admin/invitations",
    tag = "People",
    operation_id = "invite",
    security(("session" = [])),
    request_body(content = AddMemberRequest, example = json!({"email": "ada@example.org", "role": "admin"})),
    responses(
        (status = 201, description = "The member, with the link for their first sign-in, shown once.", body = MemberResponse),
        (status = 409, response = NameTaken),
    ),
)]
pub(super) async fn invite(
    state: Extract<State>,
    manager: ManagerInPerson,
    input: Json<AddMemberRequest>,
) -> Result<(StatusCode, Json<MemberResponse>)> {
    add(state, manager, input).await
}

/// The person, if the caller may change them: owners only for an owner.
async fn changeable(store: &Store, caller: &Caller, user: &str) -> Result<UserRow> {
    let user = people::get(store, caller.workspace(), id(user)?).await?;
    if user.role == Role::Owner && !caller.is_owner() {
        return Err(Error::Forbidden("only an owner can change owners or create links for them"));
    }
    Ok(user)
}

/// Change a member's role, or enable or disable them.
///
/// Only owners can change owners. Changing the role or disabling a member ends their sessions. Changing the role
/// also removes the rights that they had as a member.
#[utoipa::path(
    patch,
    path = "/admin/members/{id}",
    tag = "People",
    operation_id = "updateMember",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The member.")),
    request_body(content = Option<UpdateMemberRequest>, example = json!({"enabled": false})),
    responses(
        (status = 200, description = "The member after the change.", body = MemberResponse),
        (status = 404, response = NotFound),
        (status = 409, response = LastOwner),
    ),
)]
pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager<Caller>,
    Path(user): Path<String>,
    Json(input): Json<UpdateMemberRequest>,
) -> Result<Json<MemberResponse>> {
    let mut now = changeable(&state.store, &person, &user).await?;
    if input.role == Some(Role::Owner) && !person.is_owner() {
        return Err(Error::Forbidden("only an owner can make someone an owner"));
    }
    if let Some(role) = input.role {
        now = people::set_role(&state.audited, &person.actor(), now.id, role).await?;
    }
    if let Some(enabled) = input.enabled {
        now = people::set_enabled(&state.audited, &person.actor(), now.id, enabled).await?;
    }
    load_member(&state.store, now, None).await
}

/// Create a sign-in link for a member.
///
/// Valid once, for 48 hours. Only owners can create links for owners. If the member has signed in before and the
/// link is used, you and they count as one approver. That ends when they sign in with an earlier passkey or with a
/// link from the command line.
#[utoipa::path(
    post,
    path = "/admin/members/{id}/link",
    tag = "People",
    operation_id = "createSignInLink",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The member.")),
    responses(
        (status = 201, description = "The link, shown once.", body = Link),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn link(
    Extract(state): Extract<State>,
    ManagerInPerson(person): ManagerInPerson,
    Path(user): Path<String>,
) -> Result<(StatusCode, Json<Link>)> {
    let user = changeable(&state.store, &person, &user).await?;
    let link = people::link(&state, &person.actor(), user.id).await?;
    Ok((StatusCode::CREATED, Json(Link { link: link.expose().clone() })))
}

/// Set a member's rights for a credential.
///
/// `approve`: decide its requests. `policy`: propose changes of its policy, which apply once the member's own
/// passkey confirms them. Rights that are left out are removed. Owners and admins need none: 409.
#[utoipa::path(
    put,
    path = "/admin/members/{id}/credentials/{name}",
    tag = "People",
    operation_id = "setGrants",
    security(("session" = [])),
    params(
        ("id" = inline(Id), Path, description = "The member."),
        ("name" = String, Path, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description = "The credential."),
    ),
    request_body(content = PutRights, example = json!({"approve": true})),
    responses(
        (status = 200, description = "The member after the change.", body = MemberResponse),
        (status = 404, response = NotFound),
        (status = 409, response = NoMember),
    ),
)]
pub(super) async fn put_rights(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path((user, credential)): Path<(String, String)>,
    Json(input): Json<PutRights>,
) -> Result<Json<MemberResponse>> {
    let wanted = Right { approve: input.approve, policy: input.policy };
    let user = rights::set(&state.audited, &actor, id(&user)?, &credential, wanted).await?;
    load_member(&state.store, user, None).await
}

/// Remove a member's rights for a credential.
#[utoipa::path(
    delete,
    path = "/admin/members/{id}/credentials/{name}",
    tag = "People",
    operation_id = "removeGrants",
    security(("session" = [])),
    params(
        ("id" = inline(Id), Path, description = "The member."),
        ("name" = String, Path, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description = "The credential."),
    ),
    responses(
        (status = 204, description = "The member has no rights for it."),
        (status = 404, response = NotFound),
        (status = 409, response = NoMember),
    ),
)]
pub(super) async fn remove_rights(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path((user, credential)): Path<(String, String)>,
) -> Result<StatusCode> {
    rights::set(&state.audited, &actor, id(&user)?, &credential, Right::default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List unused invitations.
#[utoipa::path(
    get,
    path = "/admin/invitations",
    tag = "People",
    operation_id = "listInvitations",
    security(("session" = [])),
    responses((status = 200, description = "Newest first.", body = Invitations)),
)]
pub(super) async fn invitations(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<Invitations>> {
    let waiting = people::invitations(&state.store, actor.workspace, state.now()).await?;
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
    Ok(Json(invitations))
}

/// Withdraw an invitation.
///
/// Removes the person and invalidates their link. A person who has signed in must be disabled instead: 409.
#[utoipa::path(
    delete,
    path = "/admin/invitations/{id}",
    tag = "People",
    operation_id = "withdrawInvitation",
    security(("session" = [])),
    params(("id" = inline(Id), Path, description = "The member.")),
    responses(
        (status = 204, description = "Withdrawn."),
        (status = 404, response = NotFound),
        (status = 409, response = InvitationUsed),
    ),
)]
pub(super) async fn withdraw_invitation(
    Extract(state): Extract<State>,
    Manager(person): Manager<Caller>,
    Path(user): Path<String>,
) -> Result<StatusCode> {
    let user = changeable(&state.store, &person, &user).await?;
    people::withdraw_invitation(&state.audited, &person.actor(), user.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
