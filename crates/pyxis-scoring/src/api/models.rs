//! `/admin/models`.

use axum::extract::State as Extract;
use pyxis_http::Json;
use pyxis_http::admin::{Manager, Result};
use pyxis_models::card::Card;
use pyxis_models::clusters::Group;
use pyxis_models::custom::CustomCard;
use serde::Serialize;
use utoipa::ToSchema;

use crate::service::models;
use crate::state::State;
use crate::values::{AnyObject, CustomModel, SuspectedGroup};

#[derive(Serialize, ToSchema)]
pub(super) struct ModelsResponse {
    /// Null for the built-in models.
    #[schema(required)]
    revision: Option<i64>,
    /// SHA-256 that names the models.
    fingerprint: String,
    /// Origin and quality of the models.
    #[schema(value_type = AnyObject)]
    card: Card,
    #[schema(value_type = Vec<CustomModel>)]
    customs: Vec<CustomCard>,
    served: Vec<Count>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ModelScoreCount)]
struct Count {
    model: String,
    bucket: i64,
    served: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SuspectedGroupList)]
pub(super) struct Groups {
    #[schema(value_type = Vec<SuspectedGroup>)]
    groups: Vec<Group>,
}

/// Show the models in force.
///
/// With their card (data, split, quality, limits) and the number of scores served in each twentieth of 0 to 100.
/// Bucket -1 means too little data.
#[utoipa::path(
    get,
    path = "/admin/models",
    tag = "Scorers",
    operation_id = "showModels",
    security(("session" = [])),
    responses((status = 200, description = "The models.", body = ModelsResponse)),
)]
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

/// List suspected groups of wallets, the largest first.
///
/// Users connected by direct transfers with a median score below 50, with the evidence. Updated whenever activity
/// is imported.
#[utoipa::path(
    get,
    path = "/admin/models/groups",
    tag = "Scorers",
    operation_id = "listSuspectedGroups",
    security(("session" = [])),
    responses((status = 200, description = "At most 50 groups.", body = Groups)),
)]
pub(super) async fn groups(Extract(state): Extract<State>, Manager(_): Manager) -> Result<Json<Groups>> {
    Ok(Json(Groups { groups: models::groups(&state.store).await? }))
}
