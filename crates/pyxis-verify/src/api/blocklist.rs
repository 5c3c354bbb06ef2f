//! `/admin/blocklist`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::{Json, Path, Query};
use pyxis_store::blocklist::BlockedRow;
use serde::{Deserialize, Serialize};

use super::{Manager, subject};
use crate::service::{Result, blocklist};
use crate::state::State;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockRequest {
    address: String,
    network: Option<String>,
    reason: String,
}

/// Refuses unknown fields: a misspelled `network` would mean all networks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct On {
    network: Option<String>,
}

#[derive(Serialize)]
pub(super) struct BlockResponse {
    address: String,
    /// Number of networks on which the block is new.
    networks: usize,
    /// Networks without the block, because none of their nodes responds.
    unreachable: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct BlocklistResponse {
    blocked: Vec<BlockedAddress>,
}

#[derive(Serialize)]
struct BlockedAddress {
    address: String,
    network: String,
    from_height: i64,
    reason: String,
    blocked_at: String,
}

fn shown(row: BlockedRow) -> BlockedAddress {
    BlockedAddress {
        address: row.subject.to_string(),
        network: row.network.to_string(),
        from_height: row.from_height,
        reason: row.reason,
        blocked_at: row.blocked_at.to_rfc3339(),
    }
}

pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<BlocklistResponse>> {
    let rows = blocklist::list(&state).await?;
    Ok(Json(BlocklistResponse { blocked: rows.into_iter().map(shown).collect() }))
}

/// 201 if the block is new anywhere, 200 otherwise.
pub(super) async fn block(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<BlockRequest>,
) -> Result<(StatusCode, Json<BlockResponse>)> {
    let subject = subject("address", &input.address, input.network.as_deref())?;
    let done = blocklist::block(&state, &actor, subject, input.network.as_deref(), &input.reason).await?;
    let status = if done.new > 0 { StatusCode::CREATED } else { StatusCode::OK };
    let unreachable = done.unreachable.iter().map(ToString::to_string).collect();
    Ok((status, Json(BlockResponse { address: subject.to_string(), networks: done.new, unreachable })))
}

pub(super) async fn unblock(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(address): Path<String>,
    Query(on): Query<On>,
) -> Result<StatusCode> {
    let subject = subject("address", &address, on.network.as_deref())?;
    blocklist::unblock(&state, &actor, subject, on.network.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
