//! `GET /residence/country/us/{network}` (`docs/reference/behavior/verification.md#checks`).

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;

use super::answer;
use super::parameters::{self, QueryPairs};
use super::responses::{BadQuestion, OpenResponses, UnknownCheck};
use super::shared::{Explain, NetworkPath, User};
use super::sybil::CheckResponse;
use crate::block_height::Snapshot;
use crate::checker::{self, CheckRequest};
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::Country;

/// Check that an address proves residence in the United States.
///
/// On `optimism` and `optimism-goerli` unless others are configured.
#[utoipa::path(
    get,
    path = "/residence/country/{country}/{network}",
    tag = "Verification",
    operation_id = "checkResidence",
    params(("country" = inline(Country), Path), NetworkPath, User, Explain),
    responses(
        OpenResponses,
        (status = 200, description = "The answer; it names no expiry.", body = CheckResponse),
        (status = 400, response = BadQuestion),
        (status = 404, response = UnknownCheck),
    ),
)]
pub(super) async fn check(
    Extract(state): Extract<State>,
    Path((country, network)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(check_residence(&state, &country, &network, &QueryPairs::read(query.as_deref())).await)
}

async fn check_residence(
    state: &State,
    country: &str,
    network: &str,
    query: &QueryPairs<'_>,
) -> Result<String> {
    let kind = parameters::country(country)?;
    let user = parameters::address(query.need("user", "user address")?)?;
    let network = parameters::network(state.networks(), network, kind)?;
    let ask = CheckRequest { network, kind, action_id: None, snapshot: Snapshot::Latest };
    let explain = query.explain()?;
    let verdict = checker::check(state, ask, user.into(), explain).await?;
    let reason = explain.then(|| verdict.reason());
    let shown = CheckResponse { result: verdict.is_valid(), expiration_date: None, reason };
    serde_json::to_string(&shown).map_err(|error| Error::Internal(error.into()))
}
