//! `/admin/catalogue`.

use std::borrow::Cow;

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::catalogue::{CatalogueStamp, Group, Platform};
use pyxis_core::stamp::StampName;
use pyxis_http::Json;
use pyxis_http::admin::{Manager, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::service::catalogue::{self, Catalogue};
use crate::state::State;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CatalogueInput)]
pub(super) struct Replace {
    #[schema(max_items = 500, min_items = 1)]
    platforms: Vec<PlatformInput>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PlatformInput {
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    id: String,
    /// A path that starts with `/`, or an https URL.
    icon: String,
    name: String,
    description: String,
    connect_message: String,
    /// Page where its Stamps are issued, an https URL.
    url: Option<String>,
    groups: Vec<GroupInput>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GroupInput {
    name: String,
    stamps: Vec<EntryInput>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StampInput)]
struct EntryInput {
    #[schema(value_type = String)]
    name: StampName,
    description: String,
    /// Computed from the name. A client may send it back unchanged.
    #[serde(default)]
    hash: String,
}

/// Platforms in the format of the Stamps API.
#[derive(Serialize, ToSchema)]
#[schema(as = Catalogue)]
pub(super) struct CatalogueResponse {
    /// True if it is the workspace's own.
    own: bool,
    #[schema(value_type = Vec<Platform>)]
    platforms: Cow<'static, [Platform]>,
}

impl From<PlatformInput> for Platform {
    fn from(input: PlatformInput) -> Self {
        let PlatformInput { id, icon, name, description, connect_message, url, groups } = input;
        let groups = groups.into_iter().map(Group::from).collect();
        Self { id, icon, name, description, connect_message, url, groups }
    }
}

impl From<GroupInput> for Group {
    fn from(GroupInput { name, stamps }: GroupInput) -> Self {
        let entry = |EntryInput { name, description, hash }| CatalogueStamp { name, description, hash };
        Self { name, stamps: stamps.into_iter().map(entry).collect() }
    }
}

fn catalogue_response(Catalogue { own, platforms }: Catalogue) -> Json<CatalogueResponse> {
    Json(CatalogueResponse { own, platforms })
}

/// Show the catalogue of Stamps in force.
#[utoipa::path(
    get,
    path = "/admin/catalogue",
    tag = "Issuers",
    operation_id = "showCatalogue",
    security(("session" = [])),
    responses(
        (status = 200, description = "The workspace's own, or the built-in one.", body = CatalogueResponse),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<CatalogueResponse>> {
    Ok(catalogue_response(catalogue::get(&state.store, actor.workspace).await?))
}

/// Replace the catalogue of Stamps.
///
/// Platform ids and Stamp names must be unique. Hashes are computed from the names: leave them out, or send them
/// as they were read.
#[utoipa::path(
    put,
    path = "/admin/catalogue",
    tag = "Issuers",
    operation_id = "replaceCatalogue",
    security(("session" = [])),
    request_body(content = Replace, example = json!({
            "platforms": [
                {
                    "id": "Discord",
                    "icon": "/assets/stamps/Discord.svg",
                    "name": "Discord",
                    "description": "Where communities talk",
                    "connectMessage": "Connect your Discord account.",
                    "groups": [
                        {
                            "name": "Account",
                            "stamps": [
                                {
                                    "name": "Discord",
                                    "description": "Holds an account"
                                }
                            ]
                        }
                    ]
                }
            ]
        })),
    responses((status = 200, description = "The catalogue after the change.", body = CatalogueResponse)),
)]
pub(super) async fn replace(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<Replace>,
) -> Result<Json<CatalogueResponse>> {
    let platforms = input.platforms.into_iter().map(Platform::from).collect();
    Ok(catalogue_response(catalogue::replace(&state.audited, &actor, platforms).await?))
}

/// Restore the built-in catalogue.
#[utoipa::path(
    delete,
    path = "/admin/catalogue",
    tag = "Issuers",
    operation_id = "resetCatalogue",
    security(("session" = [])),
    responses((status = 204, description = "The built-in one is in force.")),
)]
pub(super) async fn reset(Extract(state): Extract<State>, Manager(actor): Manager) -> Result<StatusCode> {
    catalogue::reset(&state.audited, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}
