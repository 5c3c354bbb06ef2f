//! `/admin/stamp-keys`.

use axum::extract::State as Extract;
use pyxis_http::Json;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problems::StampKeyChanged;
use crate::service::stamp_keys::{self, ListedStampKey};
use crate::state::State;

/// Manner of a rotation; may be `{}`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RotateStampKeyRequest {
    /// True if others may know the earlier keys: their issuers are no longer trusted.
    #[serde(default)]
    compromised: bool,
}

/// A key that signs the workspace's own Stamps.
#[derive(Serialize, ToSchema)]
#[schema(as = StampKey)]
pub(super) struct StampKeyResponse {
    #[schema(example = 1)]
    number: i64,
    /// DID of the issuer that the key makes.
    #[schema(example = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    did: String,
    /// True for the newest key.
    signs: bool,
    /// True while the workspace trusts the issuer.
    trusted: bool,
    #[schema(value_type = Time)]
    created_at: String,
}

impl Listed for StampKeyResponse {
    const MEMBER: &'static str = "stamp_keys";
}

pub(super) type StampKeyListResponse = CompleteList<StampKeyResponse>;

impl From<ListedStampKey> for StampKeyResponse {
    fn from(key: ListedStampKey) -> Self {
        Self {
            number: key.row.number,
            did: key.row.did,
            signs: key.signs,
            trusted: key.trusted,
            created_at: key.row.created_at.to_rfc3339(),
        }
    }
}

/// List the keys that sign the workspace's own Stamps.
///
/// The first one is made when something is first signed, or by a rotation.
#[utoipa::path(
    get,
    path = "/admin/stamp-keys",
    tag = "Issuers",
    operation_id = "listStampKeys",
    security(("session" = [])),
    responses((status = 200, description = "Every key, newest first.", body = StampKeyListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<StampKeyListResponse>> {
    let keys = stamp_keys::list(&state.store, actor.workspace).await?;
    Ok(Json(keys.into_iter().map(StampKeyResponse::from).collect::<Vec<_>>().into()))
}

/// Add a key that signs own Stamps from now.
///
/// The workspace trusts its issuer at once. Stamps of earlier keys stay. With `compromised`, new credentials of the
/// earlier keys are refused; revoke those that are stored and should not count.
#[utoipa::path(
    post,
    path = "/admin/stamp-keys/rotate",
    tag = "Issuers",
    operation_id = "rotateStampKey",
    security(("session" = [])),
    request_body(content = RotateStampKeyRequest, example = json!({})),
    responses(
        (status = 200, description = "The new key.", body = StampKeyResponse),
        (status = 409, response = StampKeyChanged),
    ),
)]
pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(asked): Json<RotateStampKeyRequest>,
) -> Result<Json<StampKeyResponse>> {
    Ok(Json(stamp_keys::rotate(&state, &actor, asked.compromised).await?.into()))
}
