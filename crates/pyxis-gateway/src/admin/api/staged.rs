//! `/admin/policies/{credential}/staged`: proposals that wait for their maker's passkey.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::id::StagedPolicyId;
use pyxis_core::policy::Policy;
use pyxis_http::admin::{CompleteList, Listed};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::openapi::{Id, Time, text_enum};
use pyxis_http::{Json, Path};
use serde::Serialize;
use utoipa::ToSchema;

use super::Editing;
use crate::admin::staged::{self, Staged};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::runtime::state::State;

pyxis_http::value_schemas! {
    StagedWord = text_enum(["staged"]);
}

/// A proposal.
#[derive(Serialize, ToSchema)]
#[schema(as = StagedPolicy)]
pub(super) struct StagedChangeResponse {
    #[schema(value_type = Id)]
    id: String,
    #[schema(example = "github")]
    credential: String,
    #[schema(example = "ada@example.org")]
    proposed_by: String,
    /// The policy version that it changes; 0 if there was no policy.
    #[schema(minimum = 0, example = 3)]
    base_version: i64,
    /// True if the policy has changed since, so that it must be proposed again.
    outdated: bool,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Time)]
    expires_at: String,
    /// Page on which the proposer's passkey applies it.
    #[schema(
        format = "uri",
        example = "https://pyxis.example.org/app/staged/019c1234-5678-7abc-8def-0123456789ab"
    )]
    confirm_url: String,
    policy: Policy,
}

/// The 202 of a member's PUT.
#[derive(Serialize, ToSchema)]
#[schema(as = ProposedPolicy)]
pub(super) struct Proposed {
    #[schema(value_type = StagedWord)]
    status: &'static str,
    staged: StagedChangeResponse,
}

impl Listed for StagedChangeResponse {
    const MEMBER: &'static str = "staged";
    const LIST_SCHEMA: Option<&'static str> = Some("StagedChangeListResponse");
}

pub(super) type StagedChangeListResponse = CompleteList<StagedChangeResponse>;

fn staged_response(config: &Config, staged: Staged) -> StagedChangeResponse {
    StagedChangeResponse {
        id: staged.row.id.to_string(),
        confirm_url: staged.confirm_url(config),
        credential: staged.credential.name,
        proposed_by: staged.by.email,
        base_version: staged.row.base_version,
        outdated: staged.outdated,
        created_at: staged.row.created_at.to_rfc3339(),
        expires_at: staged.row.expires_at.to_rfc3339(),
        policy: staged.policy,
    }
}

pub(super) fn proposed(config: &Config, staged: Staged) -> (StatusCode, Json<Proposed>) {
    (StatusCode::ACCEPTED, Json(Proposed { status: "staged", staged: staged_response(config, staged) }))
}

/// List proposed policies of a credential.
///
/// Owners and admins see all of them, members with the Policy right their own.
#[utoipa::path(
    get,
    path = "/admin/policies/{credential}/staged",
    tag = "Policies",
    operation_id = "listStagedPolicies",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
    ),
    responses(
        (status = 200, description = "Newest first.", body = StagedChangeListResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
) -> Result<Json<StagedChangeListResponse>> {
    let all = staged::list(&state.store, &caller, state.now()).await?;
    let about = all.into_iter().filter(|staged| staged.credential.id == credential.id);
    Ok(Json(about.map(|staged| staged_response(&state.config, staged)).collect()))
}

/// Withdraw a proposed policy.
///
/// Allowed for the person who proposed it, owners and admins.
#[utoipa::path(
    delete,
    path = "/admin/policies/{credential}/staged/{id}",
    tag = "Policies",
    operation_id = "withdrawStagedPolicy",
    security(("session" = [])),
    params(
        ("credential" = String, Path, min_length = 1, description = "Name of the credential.", example = "github"),
        ("id" = inline(Id), Path, description = "The proposal."),
    ),
    responses(
        (status = 204, description = "Withdrawn; the policy is unchanged."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn withdraw(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Path((_, id)): Path<(String, String)>,
) -> Result<StatusCode> {
    let id: StagedPolicyId = id.parse().map_err(|_| Error::not_found("staged policy"))?;
    let found = staged::get(&state.store, caller.workspace(), id, state.now()).await?;
    if found.credential.id != credential.id {
        return Err(Error::not_found("staged policy"));
    }
    staged::withdraw(&state.audited, &caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
