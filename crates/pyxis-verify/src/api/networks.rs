//! `/admin/networks`.

use axum::extract::State as Extract;
use pyxis_http::Json;
use pyxis_http::admin::{CompleteList, Listed, Manager};
use serde::Serialize;
use utoipa::ToSchema;

use crate::service::networks::{self, NetworkStatus};
use crate::state::State;
use crate::values::ClockName;

impl Listed for NetworkResponse {
    const MEMBER: &'static str = "networks";
    const LIST_SCHEMA: Option<&'static str> = Some("NetworkListResponse");
}

pub(super) type NetworkListResponse = CompleteList<NetworkResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = VerificationNetwork)]
pub(super) struct NetworkResponse {
    #[schema(example = "optimism")]
    name: String,
    #[schema(required, example = 10)]
    chain_id: Option<u64>,
    #[schema(example = json!(["gov-id", "phone"]))]
    kinds: Vec<&'static str>,
    #[schema(example = json!(["registry"]))]
    sources: Vec<&'static str>,
    /// Where its blocks are counted.
    #[schema(value_type = ClockName)]
    clock: &'static str,
    #[schema(required, example = 146_000_000)]
    head: Option<i64>,
    #[schema(required, example = "2026-01-31T09:05:00.000Z")]
    head_at: Option<String>,
    #[schema(required, example = 45)]
    latency_ms: Option<u64>,
    #[schema(required, example = json!(null))]
    error: Option<String>,
}

fn network_response(standing: NetworkStatus<'_>) -> NetworkResponse {
    let (head, error) = match standing.head {
        Ok(head) => (Some(head), None),
        Err(error) => (None, Some(error)),
    };
    NetworkResponse {
        name: standing.network.name.to_string(),
        chain_id: standing.network.chain_id,
        kinds: standing.kinds.into_iter().map(pyxis_core::proof::Kind::as_str).collect(),
        sources: standing.network.sources(),
        clock: standing.clock,
        head: head.map(|(block, _)| block.height),
        head_at: head.map(|(block, _)| block.at.to_rfc3339()),
        latency_ms: head.map(|(_, took)| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        error,
    }
}

/// List networks: sources, newest block, latency.
#[utoipa::path(
    get,
    path = "/admin/networks",
    tag = "Registry",
    operation_id = "listNetworks",
    security(("session" = [])),
    responses((status = 200, description = "Every network.", body = NetworkListResponse)),
)]
pub(super) async fn list(Extract(state): Extract<State>, Manager(_): Manager) -> Json<NetworkListResponse> {
    Json(networks::list(&state).await.into_iter().map(network_response).collect())
}
