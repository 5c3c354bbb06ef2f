//! `/admin/allow-lists`.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_core::address::EvmAddress;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::StampName;
use pyxis_http::admin::{CompleteList, Listed, Manager, PageSize, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path, Query};
use pyxis_store::listed_addresses::ListedAddressRow;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::problems::OwnIssuerUntrusted;
use super::stamp_signing::{HolderInput, read_holders};
use crate::address;
use crate::service::Error;
use crate::service::allow_lists::{self, AllowList, ListChange};
use crate::service::amount::Amount;
use crate::service::own_stamps::OwnStampInput;
use crate::service::stamp_signing::{Holder, VALID_DAYS};
use crate::state::State;
use crate::values::{Address, AmountInput};

/// Pages of addresses.
const PAGE: PageSize = PageSize { default: 1000, most: 10_000 };

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateAllowListRequest {
    /// Name of the Stamp: 1 to 200 printable ASCII characters without spaces.
    #[schema(value_type = String)]
    name: StampName,
    /// Description of a person on the list, for the catalogue.
    #[schema(max_length = 1000)]
    description: String,
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

pub(super) fn default_days() -> i64 {
    VALID_DAYS
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedAddressesRequest {
    #[schema(value_type = Vec<Address>, min_items = 1, max_items = 10_000)]
    addresses: Vec<String>,
}

/// Addresses to add: `addresses`, `holders` or both, 1 to 10,000 together.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddListedAddressesRequest {
    /// Addresses whose Stamps count for them alone.
    #[serde(default)]
    #[schema(value_type = Vec<Address>, max_items = 10_000)]
    addresses: Vec<String>,
    /// Addresses with nullifiers. Of addresses with the same nullifier, one has a Stamp that counts.
    #[serde(default)]
    #[schema(max_items = 10_000)]
    holders: Vec<HolderInput>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AddressPage {
    /// Address that the page follows: `next_after` of the page before.
    #[param(value_type = Address, nullable = false)]
    after: Option<String>,
    /// Addresses on the page.
    #[param(minimum = 1, maximum = 10_000, default = 1000)]
    limit: Option<u32>,
}

/// A list of addresses as a Stamp.
#[derive(Serialize, ToSchema)]
#[schema(as = AllowList)]
pub(super) struct AllowListResponse {
    #[schema(value_type = String, example = "EarlyMember")]
    name: StampName,
    #[schema(example = "Joined in the first year")]
    description: String,
    #[schema(example = 90)]
    valid_days: i64,
    /// Number of addresses on the list.
    #[schema(example = 120)]
    addresses: i64,
    /// Number of those that have the Stamp.
    #[schema(example = 45)]
    issued: i64,
    #[schema(value_type = Time)]
    created_at: String,
}

impl Listed for AllowListResponse {
    const MEMBER: &'static str = "allow_lists";
}

pub(super) type AllowListListResponse = CompleteList<AllowListResponse>;

#[derive(Serialize, ToSchema)]
#[schema(as = ListedAddresses)]
pub(super) struct ListedAddressesResponse {
    addresses: Vec<ListedAddress>,
    /// Value of `after` for the next page; null on the last page.
    #[schema(value_type = Option<Address>, required)]
    next_after: Option<EvmAddress>,
}

#[derive(Serialize, ToSchema)]
struct ListedAddress {
    #[schema(value_type = Address)]
    address: EvmAddress,
    /// Nullifiers, if some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, nullable = false)]
    nullifiers: Option<Box<RawValue>>,
    #[schema(value_type = Time)]
    listed_at: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AllowListChange)]
pub(super) struct AllowListChangeResponse {
    /// Addresses that were added or removed.
    #[schema(example = 2)]
    changed: u64,
    /// Stamps that were withdrawn.
    #[schema(example = 1)]
    withdrawn: u64,
}

impl From<AllowList> for AllowListResponse {
    fn from(list: AllowList) -> Self {
        Self {
            name: list.row.provider,
            description: list.row.description,
            valid_days: list.row.valid_days,
            addresses: list.addresses,
            issued: list.issued,
            created_at: list.row.created_at.to_rfc3339(),
        }
    }
}

impl From<ListChange> for AllowListChangeResponse {
    fn from(ListChange { changed, withdrawn }: ListChange) -> Self {
        Self { changed, withdrawn }
    }
}

/// A weight in a scorer, if both are sent.
pub(super) fn weight(
    scorer_id: Option<i64>,
    weight: Option<Amount>,
) -> Result<Option<(ScorerId, Decimal)>, Error> {
    match (scorer_id, weight) {
        (None, None) => Ok(None),
        (Some(id), Some(Amount(weight))) => {
            let id = ScorerId::try_from(id).map_err(|_| Error::not_found("scorer"))?;
            Ok(Some((id, weight)))
        }
        _ => Err(Error::field("weight", "send scorer_id and weight together, or neither")),
    }
}

/// The name in a path.
pub(super) fn name(text: &str, noun: &'static str) -> Result<StampName, Error> {
    text.parse().map_err(|_| Error::not_found(noun))
}

fn list_name(text: &str) -> Result<StampName, Error> {
    name(text, "allow list")
}

/// List allow lists.
#[utoipa::path(
    get,
    path = "/admin/allow-lists",
    tag = "Issuers",
    operation_id = "listAllowLists",
    security(("session" = [])),
    responses((status = 200, description = "By name.", body = AllowListListResponse)),
)]
pub(super) async fn list(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
) -> Result<Json<AllowListListResponse>> {
    let lists = allow_lists::list(&state.store, &actor).await?;
    Ok(Json(lists.into_iter().map(AllowListResponse::from).collect()))
}

/// Add an empty allow list.
///
/// Its Stamp is issued with the workspace's own key, to addresses on the list that ask for it with
/// `POST /v2/stamps/{address}/issue`. It is in the catalogue at once.
#[utoipa::path(
    post,
    path = "/admin/allow-lists",
    tag = "Issuers",
    operation_id = "createAllowList",
    security(("session" = [])),
    request_body(content = CreateAllowListRequest, example = json!({
        "name": "EarlyMember", "description": "Joined in the first year", "scorer_id": 1, "weight": "5"
    })),
    responses(
        (status = 201, description = "Added.", body = AllowListResponse),
        (status = 404, response = NotFound),
        (status = 409, response = OwnIssuerUntrusted),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn create(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(asked): Json<CreateAllowListRequest>,
) -> Result<(StatusCode, Json<AllowListResponse>)> {
    let CreateAllowListRequest { name, description, valid_days, .. } = asked;
    let weight = weight(asked.scorer_id, asked.weight)?;
    let input = OwnStampInput { name, description, valid_days, weight };
    let list = allow_lists::create(&state, &actor, input).await?;
    Ok((StatusCode::CREATED, Json(list.into())))
}

/// Show an allow list.
#[utoipa::path(
    get,
    path = "/admin/allow-lists/{name}",
    tag = "Issuers",
    operation_id = "getAllowList",
    security(("session" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "The list, without its addresses.", body = AllowListResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
) -> Result<Json<AllowListResponse>> {
    Ok(Json(allow_lists::get(&state.store, &actor, &list_name(&text)?).await?.into()))
}

/// Delete an allow list and withdraw its Stamps.
///
/// Up to 5,000 are withdrawn before the response, the rest in the background.
#[utoipa::path(
    delete,
    path = "/admin/allow-lists/{name}",
    tag = "Issuers",
    operation_id = "deleteAllowList",
    security(("session" = [])),
    params(("name" = String, Path)),
    responses(
        (status = 200, description = "Deleted.", body = AllowListChangeResponse),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn delete(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
) -> Result<Json<AllowListChangeResponse>> {
    Ok(Json(allow_lists::delete(&state, &actor, &list_name(&text)?).await?.into()))
}

/// List the addresses of an allow list.
#[utoipa::path(
    get,
    path = "/admin/allow-lists/{name}/addresses",
    tag = "Issuers",
    operation_id = "listAllowListAddresses",
    security(("session" = [])),
    params(
        ("name" = String, Path),
        AddressPage,
    ),
    responses(
        (status = 200, description = "In the order of the addresses.", body = ListedAddressesResponse),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn addresses(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
    Query(page): Query<AddressPage>,
) -> Result<Json<ListedAddressesResponse>> {
    let limit = PAGE.require(page.limit)?;
    let after = page.after.map(|text| address::read(&text)).transpose();
    let after = after.map_err(|error| Error::field("after", error.to_string()))?;
    let rows = allow_lists::addresses(&state.store, &actor, &list_name(&text)?, after, limit).await?;
    let next_after = rows.last().filter(|_| rows.len() >= limit as usize).map(|row| row.address);
    let listed = |row: ListedAddressRow| {
        let nullifiers = row.nullifiers.map(RawValue::from_string).transpose().map_err(Error::internal)?;
        Ok(ListedAddress { address: row.address, nullifiers, listed_at: row.listed_at.to_rfc3339() })
    };
    let addresses = rows.into_iter().map(listed).collect::<Result<_, Error>>()?;
    Ok(Json(ListedAddressesResponse { addresses, next_after }))
}

/// Add addresses to an allow list.
#[utoipa::path(
    post,
    path = "/admin/allow-lists/{name}/addresses",
    tag = "Issuers",
    operation_id = "addAllowListAddresses",
    security(("session" = [])),
    params(("name" = String, Path)),
    request_body(content = AddListedAddressesRequest, example = json!({
        "addresses": [crate::values::SAMPLE],
        "holders": [{ "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1", "nullifiers": ["member:4711"] }]
    })),
    responses(
        (status = 200, description = "Added; those that were on it count as unchanged.", body = AllowListChangeResponse),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn add(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
    Json(asked): Json<AddListedAddressesRequest>,
) -> Result<Json<AllowListChangeResponse>> {
    let AddListedAddressesRequest { addresses, holders } = asked;
    let plain = read(&addresses)?.into_iter().map(|address| Holder { address, nullifiers: Vec::new() });
    let holders: Vec<Holder> = read_holders(holders)?.into_iter().chain(plain).collect();
    Ok(Json(allow_lists::add(&state, &actor, &list_name(&text)?, &holders).await?.into()))
}

/// Remove addresses from an allow list and withdraw their Stamps.
///
/// Up to 5,000 are withdrawn before the response, the rest in the background.
#[utoipa::path(
    post,
    path = "/admin/allow-lists/{name}/addresses/remove",
    tag = "Issuers",
    operation_id = "removeAllowListAddresses",
    security(("session" = [])),
    params(("name" = String, Path)),
    request_body(content = ListedAddressesRequest, example = json!({"addresses": [crate::values::SAMPLE]})),
    responses(
        (status = 200, description = "Removed.", body = AllowListChangeResponse),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn remove(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
    Json(asked): Json<ListedAddressesRequest>,
) -> Result<Json<AllowListChangeResponse>> {
    let addresses = read(&asked.addresses)?;
    Ok(Json(allow_lists::remove(&state, &actor, &list_name(&text)?, &addresses).await?.into()))
}

fn read(addresses: &[String]) -> Result<Vec<EvmAddress>, Error> {
    let one = |(index, text): (usize, &String)| {
        address::read(text)
            .map_err(|error| Error::field(format!("addresses[{index}]"), format!("{text:?}: {error}")))
    };
    addresses.iter().enumerate().map(one).collect()
}
