//! `GET /v2/stamps/metadata`: the catalogue of all Stamps.

use axum::extract::State as Extract;
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::catalogue::Platform;

use super::{json, respond};
use crate::error::Error;
use crate::service::catalogue;
use crate::state::State;

/// Read the catalogue of Stamps.
///
/// Allow lists and on-chain Stamps of the workspace that the catalogue does not name are platforms at its end.
#[utoipa::path(
    get,
    path = "/v2/stamps/metadata",
    tag = "Stamps API",
    operation_id = "getCatalogue",
    security(("apiKey" = [])),
    responses((status = 200, description = "Every platform with its Stamps.", body = Vec<Platform>)),
)]
pub(crate) async fn get_catalogue(Extract(state): Extract<State>, headers: HeaderMap) -> Response {
    respond(&state, &headers, async |caller| {
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let platforms = catalogue::served(&state.store, caller.workspace).await?;
        Ok(json(serde_json::to_vec(&*platforms).map_err(|error| Error::Internal(error.into()))?))
    })
    .await
}
