//! `/admin/score-keys`.

use axum::extract::State as Extract;
use pyxis_core::admin_error::Missing;
use pyxis_core::clock::UnixMillis;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path};
use pyxis_store::score_keys::ScoreKeyScheme;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::problems::KeyWaits;
use crate::service::Error;
use crate::service::score_keys::{self, ListedKey, Rotation};
use crate::state::State;
use crate::values::{ScoreKeySchemeName, ScoreKeyStatus};

/// Manner of a rotation; may be `{}`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RotateScoreKeyRequest {
    /// Time from which the new key signs, at most 30 days ahead; now by default. It is published at once.
    #[schema(value_type = Option<Time>, nullable = false)]
    signs_from: Option<String>,
    /// True if others may know the earlier keys: they are no longer published, and what they signed is void.
    #[serde(default)]
    compromised: bool,
}

/// A key that signs scores.
#[derive(Serialize, ToSchema)]
#[schema(as = ScoreKey)]
pub(super) struct ScoreKeyResponse {
    #[schema(value_type = ScoreKeySchemeName)]
    scheme: &'static str,
    /// Number within the scheme.
    #[schema(example = 1)]
    number: i64,
    /// `kid` of tokens, or the signer's address.
    #[schema(example = "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s")]
    id: String,
    #[schema(value_type = ScoreKeyStatus)]
    status: &'static str,
    #[schema(value_type = Time)]
    created_at: String,
    #[schema(value_type = Time)]
    signs_from: String,
    #[schema(value_type = Option<Time>, required)]
    signs_until: Option<String>,
    /// Time until which the key stays published.
    #[schema(value_type = Option<Time>, required)]
    trusted_until: Option<String>,
}

impl Listed for ScoreKeyResponse {
    const MEMBER: &'static str = "score_keys";
}

pub(super) type ScoreKeyListResponse = CompleteList<ScoreKeyResponse>;

fn score_key_response(key: &ListedKey, now: UnixMillis) -> ScoreKeyResponse {
    ScoreKeyResponse {
        scheme: key.row.scheme.as_str(),
        number: key.row.number,
        id: key.id(),
        status: key.status(now),
        created_at: key.row.created_at.to_rfc3339(),
        signs_from: key.times.signs_from.to_rfc3339(),
        signs_until: key.times.signs_until.map(UnixMillis::to_rfc3339),
        trusted_until: key.times.trusted_until.map(UnixMillis::to_rfc3339),
    }
}

/// List the keys that sign scores.
#[utoipa::path(
    get,
    path = "/admin/score-keys",
    tag = "Scorers",
    operation_id = "listScoreKeys",
    security(("session" = [])),
    responses((status = 200, description = "Every key, newest first within each scheme.", body = ScoreKeyListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<ScoreKeyListResponse>> {
    let keys = score_keys::list(&state.signer, state.now()).await?;
    // Read after the first keys were created, which sign from that moment.
    let now = state.now();
    Ok(Json(keys.iter().map(|key| score_key_response(key, now)).collect::<Vec<_>>().into()))
}

/// Add a key that signs scores from now, or from a later moment.
///
/// The earlier key stays published for seven days, until its last signature has expired. Contracts keep their own list
/// of signers: publish the new key some days before it signs, and add it there meanwhile.
#[utoipa::path(
    post,
    path = "/admin/score-keys/{scheme}/rotate",
    tag = "Scorers",
    operation_id = "rotateScoreKey",
    security(("session" = [])),
    params(("scheme" = inline(ScoreKeySchemeName), Path)),
    request_body(content = RotateScoreKeyRequest, example = json!({})),
    responses(
        (status = 200, description = "The new key.", body = ScoreKeyResponse),
        (status = 404, response = NotFound),
        (status = 409, response = KeyWaits),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn rotate(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(scheme): Path<String>,
    Json(asked): Json<RotateScoreKeyRequest>,
) -> Result<Json<ScoreKeyResponse>> {
    let scheme = ScoreKeyScheme::from_name(&scheme).ok_or_else(|| {
        let known = ScoreKeyScheme::ALL.iter().map(|scheme| scheme.as_str().to_owned());
        Error::NotFound(Missing::among("scheme", &scheme, known))
    })?;
    let signs_from = asked.signs_from.map(|text| {
        UnixMillis::parse_rfc3339(&text)
            .ok_or_else(|| Error::field("signs_from", "a time, for example 2026-01-31T09:05:00Z"))
    });
    let how = Rotation { signs_from: signs_from.transpose()?, compromised: asked.compromised };
    let key = score_keys::rotate(&state, &actor, scheme, how).await?;
    Ok(Json(score_key_response(&key, state.now())))
}
