//! `/admin/models`.

use axum::extract::State as Extract;
use axum::response::Response;
use pyxis_http::admin::{Manager, Result};
use pyxis_http::openapi::responses::InvalidField;
use pyxis_http::{Json, Query};
use pyxis_models::card::Card;
use pyxis_models::clusters::Group;
use pyxis_models::custom::CustomCard;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::streamed;
use crate::service::clusters::{self, ClusterFormat};
use crate::service::{Error, models};
use crate::state::State;
use crate::values::{ClusterFormatName, CustomModel, ModelsCard, SuspectedGroup};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupExportParams {
    #[param(value_type = Option<ClusterFormatName>, inline)]
    format: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ModelsResponse {
    /// Null for the built-in models.
    #[schema(required, example = json!(null))]
    revision: Option<i64>,
    /// SHA-256 that names the models.
    #[schema(example = "4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b")]
    fingerprint: String,
    #[schema(value_type = ModelsCard)]
    card: Card,
    #[schema(value_type = Vec<CustomModel>)]
    customs: Vec<CustomCard>,
    served: Vec<Count>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ModelScoreCount)]
struct Count {
    #[schema(example = "aggregate")]
    model: String,
    #[schema(example = 17)]
    bucket: i64,
    #[schema(example = 240)]
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

/// Export suspected groups with all their members.
///
/// CSV has a line for each member with the evidence of its group. GraphML has the members, what they have in common,
/// and the transfers between them.
#[utoipa::path(
    get,
    path = "/admin/models/groups/export",
    tag = "Scorers",
    operation_id = "exportSuspectedGroups",
    security(("session" = [])),
    params(GroupExportParams),
    responses(
        (
            status = 200,
            description = "The file.",
            content((String = "text/csv"), (String = "application/graphml+xml")),
        ),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn export_groups(
    Extract(state): Extract<State>,
    Manager(_): Manager,
    Query(asked): Query<GroupExportParams>,
) -> Result<Response> {
    let name = asked.format.as_deref().unwrap_or("csv");
    let format = ClusterFormat::from_name(name)
        .ok_or_else(|| Error::field("format", format!("must be csv or graphml, not {name}")))?;
    let pieces = clusters::export(state.store.clone(), format)?;
    Ok(streamed::file(format.content_type(), &format!("pyxis-clusters.{}", format.as_str()), pieces))
}
