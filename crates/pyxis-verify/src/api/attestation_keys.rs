//! `/admin/attestation-keys`.

use axum::extract::State as Extract;
use pyxis_http::admin::{Manager, Result};
use pyxis_http::openapi::responses::NotFound;
use pyxis_http::{Json, Path};
use pyxis_store::attestation_keys::Scheme;

use crate::attestation::keys;
use crate::attestation::keys::AttestationKey;
use crate::service::Error;
use crate::state::State;
use crate::values::SchemeName;

/// End the key that signs, and let a new one sign.
#[utoipa::path(
    post,
    path = "/admin/attestation-keys/{scheme}/rotate",
    tag = "Registry",
    operation_id = "rotateAttestationKey",
    security(("session" = [])),
    params(("scheme" = inline(SchemeName), Path)),
    responses(
        (status = 200, description = "The new key.", body = AttestationKey),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scheme): Path<String>,
) -> Result<Json<AttestationKey>> {
    let scheme = Scheme::from_name(&scheme).ok_or(Error::not_found("scheme"))?;
    Ok(Json(AttestationKey::from(&keys::rotate(&state, &actor, scheme).await?)))
}
