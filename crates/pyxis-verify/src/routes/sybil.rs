//! `GET /sybil-resistance/{credential_type}/{network}` (`docs/reference/behavior/verification.md#checks`).

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::parameters::{self, QueryPairs};
use super::responses::{BadQuestion, OpenResponses, UnknownCheck};
use super::shared::{ActionId, Explain, NetworkPath, User};
use super::{answer, json};
use crate::block_height::Snapshot;
use crate::checker::{self, CheckRequest, CheckVerdict};
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::{SybilKind, VerificationReason};

#[derive(Serialize, ToSchema)]
#[schema(as = VerificationResult)]
pub(super) struct CheckResponse {
    pub(super) result: bool,
    /// Unix seconds; only if `result` is true and the source has an expiry.
    #[serde(rename = "expirationDate", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1_801_386_300)]
    pub(super) expiration_date: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VerificationReason>, nullable = false)]
    pub(super) reason: Option<&'static str>,
}

/// Check that an address represents a unique human for an action.
///
/// The current state, on `optimism`, `base-sepolia`, `ethereum` and `base` unless others are configured.
#[utoipa::path(
    get,
    path = "/sybil-resistance/{credential_type}/{network}",
    tag = "Verification",
    operation_id = "checkSybilResistance",
    params(("credential_type" = inline(SybilKind), Path), NetworkPath, User, ActionId, Explain),
    responses(
        OpenResponses,
        (status = 200, description = "The answer.", body = CheckResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownCheck),
    ),
)]
pub(super) async fn check(
    Extract(state): Extract<State>,
    Path((kind, network)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    match check_uniqueness(&state, &kind, &network, &QueryPairs::read(query.as_deref())).await {
        Ok((CheckVerdict::Invalid(_), false)) => json("{\"result\":false}"),
        Ok((verdict, explain)) => answer(body(verdict, explain)),
        Err(error) => answer(Err(error)),
    }
}

async fn check_uniqueness(
    state: &State,
    kind: &str,
    network: &str,
    query: &QueryPairs<'_>,
) -> Result<(CheckVerdict, bool)> {
    let kind = parameters::sybil_kind(kind)?;
    let user = query.need("user", "user address")?;
    let action_id = query.need("action-id", "action-id")?;
    let user = parameters::address(user)?;
    let action_id = Some(parameters::action(action_id)?);
    let network = parameters::network(state.networks(), network, kind)?;
    let ask = CheckRequest { network, kind, action_id, snapshot: Snapshot::Latest };
    let explain = query.explain()?;
    Ok((checker::check(state, ask, user.into(), explain).await?, explain))
}

fn body(verdict: CheckVerdict, explain: bool) -> Result<String> {
    let expiration_date = match verdict {
        CheckVerdict::Valid(until) => until.map(pyxis_core::clock::UnixMillis::seconds),
        CheckVerdict::Invalid(_) => None,
    };
    let reason = explain.then(|| verdict.reason());
    let shown = CheckResponse { result: verdict.is_valid(), expiration_date, reason };
    serde_json::to_string(&shown).map_err(|error| Error::Internal(error.into()))
}
