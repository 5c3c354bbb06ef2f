//! `/admin/catalogue`.

use std::borrow::Cow;

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::catalogue::{CatalogueStamp, Group, Platform};
use pyxis_core::stamp::StampName;
use pyxis_http::Json;
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::service::Result;
use crate::service::catalogue::{self, Catalogue};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    platforms: Vec<PlatformInput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PlatformInput {
    id: String,
    icon: String,
    name: String,
    description: String,
    connect_message: String,
    groups: Vec<GroupInput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupInput {
    name: String,
    stamps: Vec<EntryInput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryInput {
    name: StampName,
    description: String,
    /// Computed from the name. A client may send it back unchanged.
    #[serde(default)]
    hash: String,
}

/// Platforms in the format of the Stamps API.
#[derive(Serialize)]
pub(super) struct CatalogueResponse {
    own: bool,
    platforms: Cow<'static, [Platform]>,
}

impl From<PlatformInput> for Platform {
    fn from(input: PlatformInput) -> Self {
        let PlatformInput { id, icon, name, description, connect_message, groups } = input;
        let groups = groups.into_iter().map(Group::from).collect();
        Self { id, icon, name, description, connect_message, groups }
    }
}

impl From<GroupInput> for Group {
    fn from(GroupInput { name, stamps }: GroupInput) -> Self {
        let entry = |EntryInput { name, description, hash }| CatalogueStamp { name, description, hash };
        Self { name, stamps: stamps.into_iter().map(entry).collect() }
    }
}

fn shown(Catalogue { own, platforms }: Catalogue) -> Json<CatalogueResponse> {
    Json(CatalogueResponse { own, platforms })
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<CatalogueResponse>> {
    Ok(shown(catalogue::get(&state, actor.workspace).await?))
}

pub(super) async fn replace(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<Replace>,
) -> Result<Json<CatalogueResponse>> {
    let platforms = input.platforms.into_iter().map(Platform::from).collect();
    Ok(shown(catalogue::replace(&state, &actor, platforms).await?))
}

/// Idempotent: a second reset succeeds.
pub(super) async fn reset(Extract(state): Extract<State>, Manager(actor): Manager) -> Result<StatusCode> {
    catalogue::reset(&state, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}
