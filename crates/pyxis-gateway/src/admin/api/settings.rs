//! `/admin/settings`.

use std::time::Duration;

use axum::extract::State as Extract;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_http::Json;
use pyxis_http::admin::Manager;
use pyxis_http::openapi::Id;
use pyxis_store::workspaces::WorkspaceRow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::agents::present;
use crate::admin::workspaces;
use crate::error::Result;
use crate::runtime::state::State;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SettingsPatch)]
pub(super) struct UpdateSettingsRequest {
    #[schema(nullable = false)]
    default_approval_mode: Option<ApprovalMode>,
    /// The approval window; null restores the installation's.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u64>, minimum = 10, maximum = 604_800)]
    approval_timeout_secs: Option<Option<u64>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Settings)]
pub(super) struct SettingsResponse {
    #[schema(value_type = Id)]
    workspace_id: String,
    #[schema(example = "Example DAO")]
    workspace_name: String,
    default_approval_mode: ApprovalMode,
    /// Null if the installation's window applies (`PX_APPROVAL_TIMEOUT_SECS`).
    #[schema(required, example = 3600)]
    approval_timeout_secs: Option<i64>,
}

fn settings_response(row: WorkspaceRow) -> Json<SettingsResponse> {
    Json(SettingsResponse {
        workspace_id: row.id.to_string(),
        workspace_name: row.name,
        default_approval_mode: row.mode,
        approval_timeout_secs: row.approval_timeout_secs,
    })
}

/// Show the workspace's settings.
#[utoipa::path(
    get,
    path = "/admin/settings",
    tag = "Workspace",
    operation_id = "showSettings",
    security(("session" = [])),
    responses((status = 200, description = "The settings after the change.", body = SettingsResponse)),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<SettingsResponse>> {
    Ok(settings_response(workspaces::get(&state.store, actor.workspace).await?))
}

/// Change settings.
///
/// Members that are left out stay unchanged.
#[utoipa::path(
    patch,
    path = "/admin/settings",
    tag = "Workspace",
    operation_id = "updateSettings",
    security(("session" = [])),
    request_body(content = Option<UpdateSettingsRequest>, example = json!({"default_approval_mode": "gated"})),
    responses((status = 200, description = "The settings after the change.", body = SettingsResponse)),
)]
pub(super) async fn update(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<UpdateSettingsRequest>,
) -> Result<Json<SettingsResponse>> {
    let window = input.approval_timeout_secs.map(|secs| secs.map(Duration::from_secs));
    let row = workspaces::update(&state.audited, &actor, input.default_approval_mode, window).await?;
    Ok(settings_response(row))
}

/// Change settings.
///
/// The same as PATCH.
#[utoipa::path(
    put,
    path = "/admin/settings",
    tag = "Workspace",
    operation_id = "putSettings",
    security(("session" = [])),
    request_body(content = Option<UpdateSettingsRequest>, example = json!({"default_approval_mode": "gated"})),
    responses((status = 200, description = "The settings after the change.", body = SettingsResponse)),
)]
pub(super) async fn replace(
    state: Extract<State>,
    manager: Manager,
    input: Json<UpdateSettingsRequest>,
) -> Result<Json<SettingsResponse>> {
    update(state, manager, input).await
}
