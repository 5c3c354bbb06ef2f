//! `/admin/brand`: only to be read. The dashboard's own form writes it.

use axum::extract::State as Extract;
use pyxis_core::brand::SECURED_BY;
use pyxis_http::Json;
use serde::Serialize;

use super::Manager;
use crate::error::Result;
use crate::notifications::brand;
use crate::runtime::state::State;

#[derive(Serialize)]
pub(super) struct BrandResponse {
    display_name: Option<String>,
    accent: Option<String>,
    logo_url: Option<String>,
    secured_by: &'static str,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(person): Manager,
) -> Result<Json<BrandResponse>> {
    let brand = brand::get(&state, person.workspace()).await?;
    let logo_url = brand.has_logo.then(|| brand::logo_url(&state, person.workspace()));
    Ok(Json(BrandResponse {
        display_name: brand.display_name,
        accent: brand.accent,
        logo_url,
        secured_by: SECURED_BY,
    }))
}
