//! `/admin/attestation-keys`.

use axum::extract::State as Extract;
use pyxis_http::{Json, Path};
use pyxis_store::attestation_keys::Scheme;
use serde_json::Value;

use super::Manager;
use crate::attestation::keys;
use crate::service::{Error, Result};
use crate::state::State;

pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scheme): Path<String>,
) -> Result<Json<Value>> {
    let scheme = Scheme::from_name(&scheme).ok_or(Error::NotFound("scheme"))?;
    Ok(Json(keys::shown(&keys::rotate(&state, &actor, scheme).await?)))
}
