//! `/admin/stamps`.

use axum::extract::State as Extract;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_http::admin::{Manager, Result};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use pyxis_http::{Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::problems::Busy;
use crate::address;
use crate::service::Error;
use crate::service::stamps::{self, StampFilter, StampLine, StampStatus};
use crate::state::State;
use crate::values::{Address, AddressPath, Amount, StampStatusName};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct In {
    /// The scorer; default: the first one.
    #[param(minimum = 1)]
    scorer_id: Option<i64>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RevokeStampRequest)]
pub(super) struct RevokeRequest {
    /// 64 hexadecimal digits, with or without `0x`.
    #[schema(nullable = false)]
    digest: Option<String>,
    #[schema(nullable = false)]
    address: Option<String>,
    #[schema(value_type = Option<String>, nullable = false)]
    provider: Option<StampName>,
    /// For the record.
    #[schema(nullable = false, max_length = 1000)]
    reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExploredAddress)]
pub(super) struct StampsResponse {
    #[schema(value_type = Address)]
    address: EvmAddress,
    #[schema(value_type = u64, example = 1)]
    scorer_id: ScorerId,
    #[schema(value_type = Amount)]
    score: Decimal,
    passing_score: bool,
    #[schema(value_type = Amount)]
    threshold: Decimal,
    stamps: Vec<Item>,
    /// Faults of Stamps that cannot be read and therefore do not count.
    #[schema(example = json!([]))]
    damaged: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExploredStamp)]
struct Item {
    #[schema(value_type = String, example = "Discord")]
    provider: StampName,
    #[schema(example = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    issuer: String,
    #[schema(value_type = Time)]
    issued_at: String,
    #[schema(value_type = Time)]
    expires_at: String,
    #[schema(value_type = Time)]
    received_at: String,
    /// Hash of what the issuer signed; identifies the credential.
    #[schema(example = "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f")]
    digest: String,
    #[schema(value_type = Vec<String>, example = json!(["member:4711"]))]
    nullifiers: Vec<Nullifier>,
    /// Null if the scorer gives the Stamp no weight.
    #[schema(value_type = Option<String>, required, example = "0.51600")]
    weight: Option<Decimal>,
    #[schema(value_type = Amount)]
    contribution: Decimal,
    #[schema(value_type = StampStatusName)]
    standing: &'static str,
    /// With `deduplicated`: the holder and the end of its claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Address>, nullable = false)]
    holder: Option<EvmAddress>,
    /// With `deduplicated`: end of that address's claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Time>, nullable = false)]
    until: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RevokeStampResponse)]
pub(super) struct RevokeResponse {
    #[schema(example = "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f")]
    digest: String,
    /// True if it was not revoked before.
    revoked: bool,
    /// True if a Stamp was removed with it.
    removed: bool,
}

fn item(line: StampLine) -> Item {
    let (holder, until) = match line.standing {
        StampStatus::Deduplicated { holder, until } => (Some(holder), Some(until.to_rfc3339())),
        StampStatus::Counts
        | StampStatus::KeepsWeight
        | StampStatus::NoWeight
        | StampStatus::Expired
        | StampStatus::NotYetValid => (None, None),
    };
    let StampLine { stamp, weight, contribution, standing } = line;
    let time = UnixMillis::to_rfc3339;
    Item {
        provider: stamp.provider,
        issuer: stamp.issuer,
        issued_at: time(stamp.issued_at),
        expires_at: time(stamp.expires_at),
        received_at: time(stamp.received_at),
        digest: written(&stamp.digest),
        nullifiers: stamp.nullifiers,
        weight,
        contribution,
        standing: standing.as_str(),
        holder,
        until,
    }
}

fn written(digest: &SigningDigest) -> String {
    format!("0x{}", hex::encode(digest))
}

fn address(text: &str) -> Result<EvmAddress, Error> {
    address::read(text).map_err(|error| Error::field("address", error.to_string()))
}

/// Show the Stamps of an address.
///
/// Every stored Stamp, including expired ones, with its contribution in a scorer and the reason. Nothing is
/// stored. Revoked Stamps are not listed.
#[utoipa::path(
    get,
    path = "/admin/stamps/{address}",
    tag = "Issuers",
    operation_id = "exploreStamps",
    security(("session" = [])),
    params(
        AddressPath,
        In,
    ),
    responses(
        (status = 200, description = "The address's current Stamps.", body = StampsResponse),
        (status = 404, response = NotFound),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
    Query(within): Query<In>,
) -> Result<Json<StampsResponse>> {
    let address = address(&text)?;
    let scorer = within.scorer_id.map(ScorerId::try_from).transpose();
    let scorer = scorer.map_err(|_| Error::not_found("scorer"))?;
    let found = stamps::show(&state.store, actor.workspace, scorer, address, state.now()).await?;
    Ok(Json(StampsResponse {
        address,
        scorer_id: found.scorer.id,
        score: found.score,
        passing_score: found.passing,
        threshold: found.scorer.threshold,
        stamps: found.stamps.into_iter().map(item).collect(),
        damaged: found.damaged,
    }))
}

/// Revoke a credential for its issuer.
///
/// Its Stamp is removed, its claims end, and it cannot be added again in any form. If a credential has several
/// valid proofs, any digest revokes all. Identify it by its signing digest, stored or not, or by address and
/// provider.
#[utoipa::path(
    post,
    path = "/admin/stamps/revoke",
    tag = "Issuers",
    operation_id = "revokeStamp",
    security(("session" = [])),
    request_body(content = RevokeRequest, example = json!({
            "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
            "provider": "Discord",
            "reason": "the account was sold"
        })),
    responses(
        (status = 200, description = "Revoked, now or earlier.", body = RevokeResponse),
        (status = 404, response = NotFound),
        (status = 503, response = Busy),
    ),
)]
pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<RevokeRequest>,
) -> Result<Json<RevokeResponse>> {
    let which = match (input.digest, input.address, input.provider) {
        (Some(digest), None, None) => StampFilter::Digest(stamps::read_digest(&digest)?),
        (None, Some(text), Some(provider)) => StampFilter::Stored(address(&text)?, provider),
        _ => return Err(Error::field("digest", "name a digest, or an address and a provider").into()),
    };
    let (digest, done) = stamps::revoke(&state, &actor, which, input.reason).await?;
    Ok(Json(RevokeResponse { digest: written(&digest), revoked: done.new, removed: done.removed }))
}
