//! `/admin/onchain-stamps`.

use std::collections::BTreeMap;

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::stamp::StampName;
use pyxis_http::admin::{CompleteList, Listed, Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::allow_lists::{default_days, name, weight};
use super::problems::{NodeUnavailable, OwnIssuerUntrusted};
use crate::service::amount::Amount;
use crate::service::onchain_stamps::{self, ConditionInput, OnChainStamp};
use crate::service::own_stamps::OwnStampInput;
use crate::state::State;
use crate::values::{AmountInput, ConditionSettings};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateOnchainStampRequest {
    /// Name of the Stamp: 1 to 200 printable ASCII characters without spaces.
    #[schema(value_type = String)]
    name: StampName,
    /// Description of the holder, for the catalogue.
    #[schema(max_length = 1000)]
    description: String,
    /// Kind of condition: `erc20`, `erc721`, `erc1155`, `call` or `eas`.
    kind: String,
    /// Name of a network with nodes.
    network: String,
    #[schema(value_type = ConditionSettings)]
    settings: BTreeMap<String, String>,
    /// Days until an issued Stamp expires.
    #[serde(default = "default_days")]
    #[schema(default = 90, minimum = 1, maximum = 3650)]
    valid_days: i64,
    /// Scorer that gives the Stamp a weight.
    #[schema(nullable = false, minimum = 1)]
    scorer_id: Option<i64>,
    /// With `scorer_id`: the weight.
    #[schema(value_type = Option<AmountInput>, nullable = false)]
    weight: Option<Amount>,
}

/// A condition on a chain as a Stamp.
#[derive(Serialize, ToSchema)]
#[schema(as = OnchainStamp)]
pub(super) struct OnchainStampResponse {
    #[schema(value_type = String, example = "CoinbaseAccount")]
    name: StampName,
    #[schema(example = "Has a verified Coinbase account")]
    description: String,
    #[schema(example = "eas")]
    kind: String,
    #[schema(example = "base")]
    network: String,
    #[schema(value_type = ConditionSettings)]
    settings: BTreeMap<String, String>,
    #[schema(example = 90)]
    valid_days: i64,
    /// Number of addresses that have the Stamp.
    #[schema(example = 45)]
    issued: i64,
    #[schema(value_type = Time)]
    created_at: String,
}

impl Listed for OnchainStampResponse {
    const MEMBER: &'static str = "onchain_stamps";
}

pub(super) type OnchainStampListResponse = CompleteList<OnchainStampResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = RemovedOnchainStamp)]
pub(super) struct RemoveResponse {
    /// Issued Stamps that were withdrawn before the response.
    #[schema(example = 45)]
    withdrawn: u64,
}

impl From<OnChainStamp> for OnchainStampResponse {
    fn from(stamp: OnChainStamp) -> Self {
        let OnChainStamp { row, network, settings, issued } = stamp;
        Self {
            name: row.provider,
            description: row.description,
            kind: row.kind,
            network,
            settings,
            valid_days: row.valid_days,
            issued,
            created_at: row.created_at.to_rfc3339(),
        }
    }
}

/// List on-chain Stamps.
#[utoipa::path(
    get,
    path = "/admin/onchain-stamps",
    tag = "Issuers",
    operation_id = "listOnchainStamps",
    security(("session" = [])),
    responses((status = 200, description = "By name.", body = OnchainStampListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<OnchainStampListResponse>> {
    let stamps = onchain_stamps::list(&state.store, &actor).await?;
    Ok(Json(stamps.into_iter().map(OnchainStampResponse::from).collect()))
}

/// Add an on-chain Stamp.
///
/// Its contract is asked once, so that a wrong address is found now. The Stamp is issued with the workspace's own key,
/// to addresses that ask for it with `POST /v2/stamps/{address}/issue` and meet the condition. Each is checked again
/// about every half hour, and withdrawn once the condition no longer holds.
#[utoipa::path(
    post,
    path = "/admin/onchain-stamps",
    tag = "Issuers",
    operation_id = "createOnchainStamp",
    security(("session" = [])),
    request_body(content = CreateOnchainStampRequest, example = json!({
        "name": "CoinbaseAccount", "description": "Has a verified Coinbase account", "kind": "eas", "network": "base",
        "settings": {
            "contract": "0x4200000000000000000000000000000000000021",
            "schema": "0xf8b05c79f090979bf4a80270aba232dff11a10d9ca55c4f88de95317970f0de9",
            "attester": "0x357458739F90461b99789350868CD7CF330Dd7EE",
            "indexer": "0x2c7eE1E5f416dfF40054c27A62f7B357C4E8619C"
        },
        "scorer_id": 1, "weight": "10"
    })),
    responses(
        (status = 201, description = "Added.", body = OnchainStampResponse),
        (status = 404, response = NotFound),
        (status = 409, response = OwnIssuerUntrusted),
        (status = 422, response = InvalidField),
        (status = 503, response = NodeUnavailable),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(asked): Json<CreateOnchainStampRequest>,
) -> Result<(StatusCode, Json<OnchainStampResponse>)> {
    let CreateOnchainStampRequest { name, description, kind, network, settings, valid_days, .. } = asked;
    let weight = weight(asked.scorer_id, asked.weight)?;
    let input = OwnStampInput { name, description, valid_days, weight };
    let condition = ConditionInput { kind, network, settings };
    let stamp = onchain_stamps::create(&state, &actor, input, condition).await?;
    Ok((StatusCode::CREATED, Json(stamp.into())))
}

/// Show an on-chain Stamp.
#[utoipa::path(
    get,
    path = "/admin/onchain-stamps/{name}",
    tag = "Issuers",
    operation_id = "getOnchainStamp",
    security(("session" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The Stamp and its condition.", body = OnchainStampResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
) -> Result<Json<OnchainStampResponse>> {
    Ok(Json(onchain_stamps::get(&state.store, &actor, &name(&text, "on-chain Stamp")?).await?.into()))
}

/// Remove an on-chain Stamp and withdraw what was issued.
///
/// Up to 5,000 are withdrawn before the response, the rest in the background.
#[utoipa::path(
    delete,
    path = "/admin/onchain-stamps/{name}",
    tag = "Issuers",
    operation_id = "removeOnchainStamp",
    security(("session" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "Removed.", body = RemoveResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
) -> Result<Json<RemoveResponse>> {
    let withdrawn = onchain_stamps::remove(&state, &actor, &name(&text, "on-chain Stamp")?).await?;
    Ok(Json(RemoveResponse { withdrawn }))
}
