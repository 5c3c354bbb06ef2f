//! `GET /v2/stamps/metadata`: the catalogue of all Stamps.

use std::borrow::Cow;

use axum::extract::State as Extract;
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::catalogue::{Platform, default_catalogue};
use pyxis_core::id::WorkspaceId;
use pyxis_store::catalogue;

use super::{json, respond};
use crate::error::{Error, Result};
use crate::state::State;

/// Every platform with its Stamps.
pub(crate) async fn get_catalogue(Extract(state): Extract<State>, headers: HeaderMap) -> Response {
    respond(&state, &headers, async |caller| {
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let platforms = platforms(&state, caller.workspace).await?;
        Ok(json(serde_json::to_vec(&*platforms).map_err(|error| Error::Internal(error.into()))?))
    })
    .await
}

/// The workspace's own catalogue, or the built-in one.
pub(super) async fn platforms(state: &State, workspace: WorkspaceId) -> Result<Cow<'static, [Platform]>> {
    let own = catalogue::list(&state.store, workspace).await?;
    Ok(if own.is_empty() { Cow::Borrowed(default_catalogue()) } else { Cow::Owned(own) })
}
