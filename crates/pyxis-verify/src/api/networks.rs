//! `/admin/networks`.

use axum::extract::State as Extract;
use pyxis_http::Json;
use serde::Serialize;

use super::Manager;
use crate::service::networks::{self, NetworkStatus};
use crate::state::State;

#[derive(Serialize)]
pub(super) struct NetworkListResponse {
    networks: Vec<NetworkResponse>,
}

#[derive(Serialize)]
struct NetworkResponse {
    name: String,
    chain_id: Option<u64>,
    kinds: Vec<&'static str>,
    sources: Vec<&'static str>,
    clock: &'static str,
    head: Option<i64>,
    head_at: Option<String>,
    latency_ms: Option<u64>,
    error: Option<String>,
}

fn shown(standing: NetworkStatus<'_>) -> NetworkResponse {
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

pub(super) async fn list(Extract(state): Extract<State>, Manager(_): Manager) -> Json<NetworkListResponse> {
    Json(NetworkListResponse { networks: networks::list(&state).await.into_iter().map(shown).collect() })
}
