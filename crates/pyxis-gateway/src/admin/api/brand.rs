//! `/admin/brand`: only to be read. The dashboard's own form writes it.

use axum::extract::State as Extract;
use pyxis_core::brand::SECURED_BY;
use pyxis_http::Json;
use pyxis_http::admin::Manager;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Result;
use crate::notifications::brand;
use crate::runtime::state::State;

#[derive(Serialize, ToSchema)]
#[schema(as = Brand)]
pub(super) struct BrandResponse {
    /// Name in notifications; null: Pyxis.
    #[schema(required, example = "Example DAO")]
    display_name: Option<String>,
    #[schema(required, pattern = "^#[0-9a-f]{6}$", example = "#3b5bdb")]
    accent: Option<String>,
    #[schema(
        format = "uri",
        required,
        example = "https://pyxis.example.org/brand/019c1234-5678-7abc-8def-0123456789ab/logo.png"
    )]
    logo_url: Option<String>,
    /// Last line of every notification.
    #[schema(example = "Secured by Pyxis")]
    secured_by: &'static str,
}

/// Show the notification brand.
///
/// Name, color and logo of chat messages and browser notifications. They are set in the dashboard.
#[utoipa::path(
    get,
    path = "/admin/brand",
    tag = "Workspace",
    operation_id = "showBrand",
    security(("session" = [])),
    responses((status = 200, description = "The brand.", body = BrandResponse)),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<BrandResponse>> {
    let brand = brand::get(&state.store, actor.workspace).await?;
    let logo_url = brand.has_logo.then(|| brand::logo_url(&state.config, actor.workspace));
    Ok(Json(BrandResponse {
        display_name: brand.display_name,
        accent: brand.accent,
        logo_url,
        secured_by: SECURED_BY,
    }))
}
