//! `/admin/stamps/sign`.

use axum::extract::State as Extract;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_http::Json;
use pyxis_http::admin::{Manager, Result};
use pyxis_http::openapi::responses::InvalidField;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::problems::OwnIssuerUntrusted;
use crate::address;
use crate::service::Error;
use crate::service::stamp_signing::{self, Holder, SigningRequest, VALID_DAYS};
use crate::state::State;
use crate::values::{Address, VerifiableCredential};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SignStampsRequest {
    /// Name of the Stamp: 1 to 200 printable ASCII characters without spaces.
    #[schema(value_type = String)]
    provider: StampName,
    #[schema(min_items = 1, max_items = 1000)]
    holders: Vec<HolderInput>,
    /// Days until the credentials expire.
    #[serde(default = "default_days")]
    #[schema(default = 90, minimum = 1, maximum = 3650)]
    valid_days: i64,
}

fn default_days() -> i64 {
    VALID_DAYS
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StampHolderInput)]
pub(super) struct HolderInput {
    #[schema(value_type = Address)]
    address: String,
    /// Nullifiers of the account behind the credential, at most 32. Without any, it counts for this address alone.
    #[serde(default)]
    #[schema(value_type = Vec<String>, max_items = 32)]
    nullifiers: Vec<Nullifier>,
}

/// Credentials, as an import and `POST /v2/stamps/{address}` accept them.
#[derive(Serialize, ToSchema)]
#[schema(as = SignedStamps)]
pub(super) struct SignedStampsResponse {
    /// DID of the issuer.
    #[schema(example = "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    issuer: String,
    /// One for each holder, in order.
    #[schema(value_type = Vec<VerifiableCredential>)]
    credentials: Vec<Box<RawValue>>,
}

/// Sign credentials with the workspace's own key.
///
/// Nothing is stored. Add each credential with `POST /v2/stamps/{address}`, or write them to a file, one on each line,
/// for `pyxis stamps import`.
#[utoipa::path(
    post,
    path = "/admin/stamps/sign",
    tag = "Issuers",
    operation_id = "signStamps",
    security(("session" = [])),
    request_body(content = SignStampsRequest, example = json!({
        "provider": "Member",
        "holders": [
            { "address": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1", "nullifiers": ["member:4711"] }
        ]
    })),
    responses(
        (status = 200, description = "The signed credentials.", body = SignedStampsResponse),
        (status = 409, response = OwnIssuerUntrusted),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn sign(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(asked): Json<SignStampsRequest>,
) -> Result<Json<SignedStampsResponse>> {
    let holders = read_holders(asked.holders)?;
    let request = SigningRequest { provider: asked.provider, holders, valid_days: asked.valid_days };
    let signed = stamp_signing::sign(&state, &actor, request).await?;
    let credentials = signed.credentials.into_iter().map(RawValue::from_string);
    let credentials = credentials.collect::<Result<Vec<_>, _>>().map_err(Error::internal)?;
    Ok(Json(SignedStampsResponse { issuer: signed.issuer, credentials }))
}

/// Reads the holders of a request, in order.
pub(super) fn read_holders(inputs: Vec<HolderInput>) -> Result<Vec<Holder>, Error> {
    let holder = |(index, input): (usize, HolderInput)| {
        let address = address::read(&input.address)
            .map_err(|error| Error::field(format!("holders[{index}].address"), error.to_string()))?;
        Ok(Holder { address, nullifiers: input.nullifiers })
    };
    inputs.into_iter().enumerate().map(holder).collect()
}
