//! `/admin/stamps`.

use axum::extract::State as Extract;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::hex;
use pyxis_core::id::ScorerId;
use pyxis_core::score::SigningDigest;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_http::{Json, Path, Query};
use serde::{Deserialize, Serialize};

use super::Manager;
use crate::address;
use crate::service::stamps::{self, StampFilter, StampLine, StampStatus};
use crate::service::{Error, Result};
use crate::state::State;

#[derive(Deserialize)]
pub(super) struct In {
    scorer_id: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RevokeRequest {
    digest: Option<String>,
    address: Option<String>,
    provider: Option<StampName>,
    reason: Option<String>,
}

#[derive(Serialize)]
pub(super) struct StampsResponse {
    address: EvmAddress,
    scorer_id: ScorerId,
    score: Decimal,
    passing_score: bool,
    threshold: Decimal,
    stamps: Vec<Item>,
    /// Faults of Stamps that cannot be read and therefore do not count.
    damaged: Vec<String>,
}

#[derive(Serialize)]
struct Item {
    provider: StampName,
    issuer: String,
    issued_at: String,
    expires_at: String,
    received_at: String,
    digest: String,
    nullifiers: Vec<Nullifier>,
    weight: Option<Decimal>,
    contribution: Decimal,
    standing: &'static str,
    /// With `deduplicated`: the holder and the end of its claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<EvmAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

#[derive(Serialize)]
pub(super) struct RevokeResponse {
    digest: String,
    /// True if it was not revoked before.
    revoked: bool,
    /// True if a Stamp was removed with it.
    removed: bool,
}

fn item(line: StampLine) -> Item {
    let (holder, until) = match line.standing {
        StampStatus::Deduplicated { holder, until } => (Some(holder), Some(until.to_rfc3339())),
        StampStatus::Counts | StampStatus::NoWeight | StampStatus::Expired | StampStatus::NotYetValid => {
            (None, None)
        }
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

fn address(text: &str) -> Result<EvmAddress> {
    address::read(text).map_err(|error| Error::field("address", error.to_string()))
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Path(text): Path<String>,
    Query(within): Query<In>,
) -> Result<Json<StampsResponse>> {
    let address = address(&text)?;
    let scorer = within.scorer_id.map(ScorerId::try_from).transpose();
    let scorer = scorer.map_err(|_| Error::NotFound("scorer"))?;
    let found = stamps::show(&state, actor.workspace, scorer, address).await?;
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

pub(super) async fn revoke(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(input): Json<RevokeRequest>,
) -> Result<Json<RevokeResponse>> {
    let which = match (input.digest, input.address, input.provider) {
        (Some(digest), None, None) => StampFilter::Digest(stamps::read_digest(&digest)?),
        (None, Some(text), Some(provider)) => StampFilter::Stored(address(&text)?, provider),
        _ => return Err(Error::field("digest", "name a digest, or an address and a provider")),
    };
    let (digest, done) = stamps::revoke(&state, &actor, which, input.reason).await?;
    Ok(Json(RevokeResponse { digest: written(&digest), revoked: done.new, removed: done.removed }))
}
