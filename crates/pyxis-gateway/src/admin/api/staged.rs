//! `/admin/policies/{credential}/staged`: proposals that wait for their maker's passkey.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::id::StagedPolicyId;
use pyxis_core::policy::Policy;
use pyxis_http::{Json, Path};
use serde::Serialize;

use super::Editing;
use crate::admin::staged::{self, Staged};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// A proposal.
#[derive(Serialize)]
pub(super) struct StagedChangeResponse {
    id: String,
    credential: String,
    proposed_by: String,
    /// The version it was made against; 0 where there was no policy.
    base_version: i64,
    /// True if the policy has changed since, so that it must be proposed again.
    outdated: bool,
    created_at: String,
    expires_at: String,
    /// Where its maker's passkey applies it.
    confirm_url: String,
    policy: Policy,
}

/// The 202 of a member's PUT.
#[derive(Serialize)]
pub(super) struct Proposed {
    status: &'static str,
    staged: StagedChangeResponse,
}

#[derive(Serialize)]
pub(super) struct StagedChangeListResponse {
    staged: Vec<StagedChangeResponse>,
}

fn shown(state: &State, staged: Staged) -> StagedChangeResponse {
    StagedChangeResponse {
        id: staged.row.id.to_string(),
        confirm_url: staged.confirm_url(state),
        credential: staged.credential.name,
        proposed_by: staged.by.email,
        base_version: staged.row.base_version,
        outdated: staged.outdated,
        created_at: staged.row.created_at.to_rfc3339(),
        expires_at: staged.row.expires_at.to_rfc3339(),
        policy: staged.policy,
    }
}

pub(super) fn proposed(state: &State, staged: Staged) -> (StatusCode, Json<Proposed>) {
    (StatusCode::ACCEPTED, Json(Proposed { status: "staged", staged: shown(state, staged) }))
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
) -> Result<Json<StagedChangeListResponse>> {
    let all = staged::list(&state, &caller).await?;
    let about = all.into_iter().filter(|staged| staged.credential.id == credential.id);
    Ok(Json(StagedChangeListResponse { staged: about.map(|staged| shown(&state, staged)).collect() }))
}

pub(super) async fn withdraw(
    Extract(state): Extract<State>,
    Editing { caller, credential }: Editing,
    Path((_, id)): Path<(String, String)>,
) -> Result<StatusCode> {
    let id: StagedPolicyId = id.parse().map_err(|_| Error::NotFound("staged policy"))?;
    let found = staged::get(&state, caller.workspace(), id).await?;
    if found.credential.id != credential.id {
        return Err(Error::NotFound("staged policy"));
    }
    staged::withdraw(&state, &caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
