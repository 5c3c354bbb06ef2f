//! `/admin/blocklist`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path, Query};
use pyxis_store::blocklist::BlockedRow;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::subject;
use crate::service::blocklist;
use crate::state::State;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockRequest {
    address: String,
    /// Default: every one.
    #[schema(nullable = false)]
    network: Option<String>,
    reason: String,
}

/// Refuses unknown fields: a misspelled `network` would mean all networks.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct On {
    /// Default: every one. Unknown parameters are refused here.
    network: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct BlockResponse {
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    address: String,
    /// Number of networks on which the block is new.
    #[schema(example = 2)]
    networks: usize,
    /// Networks without the block, because none of their nodes responds.
    #[schema(example = json!([]))]
    unreachable: Vec<String>,
}

impl Listed for BlockedAddress {
    const MEMBER: &'static str = "blocked";
    const LIST_SCHEMA: Option<&'static str> = Some("BlocklistResponse");
}

pub(super) type BlocklistResponse = CompleteList<BlockedAddress>;

#[derive(Serialize, ToSchema)]
pub(super) struct BlockedAddress {
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    address: String,
    #[schema(example = "optimism")]
    network: String,
    #[schema(example = 146_000_000)]
    from_height: i64,
    #[schema(example = "sold")]
    reason: String,
    #[schema(value_type = Time)]
    blocked_at: String,
}

fn blocked_address(row: BlockedRow) -> BlockedAddress {
    BlockedAddress {
        address: row.subject.to_string(),
        network: row.network.to_string(),
        from_height: row.from_height,
        reason: row.reason,
        blocked_at: row.blocked_at.to_rfc3339(),
    }
}

/// List blocked addresses.
#[utoipa::path(
    get,
    path = "/admin/blocklist",
    tag = "Registry",
    operation_id = "listBlockedAddresses",
    security(("session" = [])),
    responses(
        (status = 200, description = "Newest first, a thousand at most.", body = BlocklistResponse),
    ),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<BlocklistResponse>> {
    let rows = blocklist::list(&state.store).await?;
    Ok(Json(rows.into_iter().map(blocked_address).collect()))
}

/// Block an address from now on.
///
/// It applies to every check. Answers about earlier blocks stay.
#[utoipa::path(
    post,
    path = "/admin/blocklist",
    tag = "Registry",
    operation_id = "blockAddress",
    security(("session" = [])),
    request_body(content = BlockRequest, example = json!({"address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1", "reason": "sold"})),
    responses(
        (status = 200, description = "It was so.", body = BlockResponse),
        (status = 201, description = "It is so now.", body = BlockResponse),
    ),
)]
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

/// Block an address no longer.
#[utoipa::path(
    delete,
    path = "/admin/blocklist/{address}",
    tag = "Registry",
    operation_id = "unblockAddress",
    security(("session" = [])),
    params(("address" = String, Path), On),
    responses(
        (status = 204, description = "Blocked no longer."),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
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
