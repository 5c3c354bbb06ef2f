//! `/admin/models`.

use axum::extract::State as Extract;
use pyxis_http::Json;
use pyxis_models::card::Card;
use pyxis_models::clusters::Group;
use pyxis_models::custom::CustomCard;
use serde::Serialize;

use super::Manager;
use crate::service::Result;
use crate::service::models;
use crate::state::State;

#[derive(Serialize)]
pub(super) struct ModelsResponse {
    revision: Option<i64>,
    fingerprint: String,
    card: Card,
    customs: Vec<CustomCard>,
    served: Vec<Count>,
}

#[derive(Serialize)]
struct Count {
    model: String,
    bucket: i64,
    served: i64,
}

#[derive(Serialize)]
pub(super) struct Groups {
    groups: Vec<Group>,
}

/// The active models.
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<ModelsResponse>> {
    let found = models::overview(&state).await?;
    let served = found.served.into_iter();
    Ok(Json(ModelsResponse {
        revision: found.revision,
        fingerprint: found.fingerprint,
        card: found.card,
        customs: found.customs,
        served: served.map(|(model, bucket, served)| Count { model, bucket, served }).collect(),
    }))
}

/// The largest suspected groups.
pub(super) async fn groups(Extract(state): Extract<State>, Manager(_): Manager) -> Result<Json<Groups>> {
    Ok(Json(Groups { groups: models::groups(&state).await? }))
}
