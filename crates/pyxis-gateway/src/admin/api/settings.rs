//! `/admin/settings`.

use std::time::Duration;

use axum::extract::State as Extract;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_http::Json;
use pyxis_store::workspaces::WorkspaceRow;
use serde::{Deserialize, Serialize};

use super::Manager;
use super::agents::present;
use crate::admin::workspaces;
use crate::error::Result;
use crate::runtime::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateSettingsRequest {
    default_approval_mode: Option<ApprovalMode>,
    #[serde(default, deserialize_with = "present")]
    approval_timeout_secs: Option<Option<u64>>,
}

#[derive(Serialize)]
pub(super) struct SettingsResponse {
    workspace_id: String,
    workspace_name: String,
    default_approval_mode: ApprovalMode,
    /// Null: the installation's window counts.
    approval_timeout_secs: Option<i64>,
}

fn shown(row: WorkspaceRow) -> Json<SettingsResponse> {
    Json(SettingsResponse {
        workspace_id: row.id.to_string(),
        workspace_name: row.name,
        default_approval_mode: row.mode,
        approval_timeout_secs: row.approval_timeout_secs,
    })
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<SettingsResponse>> {
    Ok(shown(workspaces::get(&state, person.workspace()).await?))
}

pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(person): Manager,
    Json(input): Json<UpdateSettingsRequest>,
) -> Result<Json<SettingsResponse>> {
    let window = input.approval_timeout_secs.map(|secs| secs.map(Duration::from_secs));
    let row = workspaces::update(&state, &person.actor(), input.default_approval_mode, window).await?;
    Ok(shown(row))
}
