//! `/attestation/…`: clean hands on Sui and by the external index, attestations for EVM contracts, and the keys that
//! signed them.

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::hex;
use pyxis_store::{Store, blocklist};
use serde::Serialize;
use utoipa::ToSchema;

use super::answer;
use super::parameters::{self, QueryPairs};
use super::responses::{BadQuestion, IndexUnavailable, OpenResponses, UnknownCheck};
use super::shared::{ActionId, AddressPath, Explain, NetworkPath, User};
use crate::attestation::keys::AttestationKey;
use crate::attestation::typed::{self, AttestationRequest};
use crate::attestation::{keys, sui};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::state::State;
use crate::values::{KindName, VerificationReason};

/// Response for Sui (`docs/reference/behavior/verification.md#attestations`).
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SuiAttestation)]
struct OnSui {
    is_unique: bool,
    /// 64 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        example = "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e"
    )]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 8)]
    circuit_id: Option<u8>,
    /// Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1_769_850_300)]
    issued_at: Option<i64>,
    /// Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1_769_850_900)]
    expires_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VerificationReason>, nullable = false)]
    reason: Option<&'static str>,
}

/// An answer for EVM contracts; without a proof only `isUnique`, and `reason` if it is requested.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EvmAttestation {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    domain: Option<TypedDomain>,
    is_unique: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<TypedMessage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VerificationReason>, nullable = false)]
    reason: Option<&'static str>,
    /// 65 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        nullable = false,
        example = "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e1b"
    )]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    signer: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TypedDomain {
    #[schema(required, nullable = false, example = 10)]
    chain_id: Option<u64>,
    #[schema(example = "Pyxis Attestation")]
    name: &'static str,
    #[schema(example = "1")]
    version: &'static str,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TypedMessage {
    #[schema(example = "123456789")]
    action_id: String,
    #[schema(example = 1_769_850_900)]
    expires_at: i64,
    #[schema(example = 1_769_850_300)]
    issued_at: i64,
    #[schema(example = "gov-id")]
    kind: &'static str,
    #[schema(example = "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1")]
    recipient: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct IndexAnswer {
    /// Null if the index names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "pyxis_1")]
    attestation_id: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VerificationReason>, nullable = false)]
    reason: Option<&'static str>,
    result: bool,
    /// Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1_801_386_300)]
    valid_until: Option<i64>,
}

#[derive(Serialize, ToSchema)]
struct AttestationKeys {
    keys: Vec<AttestationKey>,
}

/// Attest clean hands of a Sui address, signed for Move contracts.
///
/// The signature (Ed25519) is over the BCS bytes of `{domain: "pyxis.clean-hands.v1", chain: "sui:mainnet",
/// circuit_id: u256, action_id: u256, recipient: address, issued_at: u64, expires_at: u64}`. See `examples/move`.
#[utoipa::path(
    get,
    path = "/attestation/sbts/clean-hands",
    tag = "Verification",
    operation_id = "attestCleanHandsOnSui",
    params(
        ("address" = String, Query, description = "`0x` and up to 64 hexadecimal digits."),
        ActionId,
        Explain,
    ),
    responses(
        OpenResponses,
        (status = 200, description = "The answer.", body = OnSui),
        (status = 400, response = BadQuestion),
    ),
)]
pub(super) async fn on_sui(Extract(state): Extract<State>, RawQuery(query): RawQuery) -> Response {
    answer(ask_sui(&state, &QueryPairs::read(query.as_deref())).await)
}

async fn ask_sui(state: &State, query: &QueryPairs<'_>) -> Result<String> {
    let address = query.need("address", "address")?;
    let action_id = query.need("action-id", "action-id")?;
    let address = address.parse().map_err(|_| Error::InvalidUser)?;
    let action_id = parameters::action(action_id)?;
    let explain = query.explain()?;
    let (verdict, attested) = sui::attest(state, address, action_id, explain).await?;
    let attested = attested.as_ref();
    let shown = OnSui {
        is_unique: attested.is_some(),
        signature: attested.map(|attested| format!("0x{}", hex::encode(&attested.signature))),
        circuit_id: attested.map(|_| sui::CIRCUIT_ID),
        issued_at: attested.map(|attested| attested.issued_at),
        expires_at: attested.map(|attested| attested.expires_at),
        reason: explain.then(|| verdict.reason()),
    };
    serde_json::to_string(&shown).map_err(|error| Error::Internal(error.into()))
}

/// Attest a check, signed for EVM contracts.
///
/// Typed data (EIP-712), bound to the chain and the recipient, with an expiry.
#[utoipa::path(
    get,
    path = "/attestation/evm/{credential_type}/{network}",
    tag = "Verification",
    operation_id = "attestForEvm",
    params(("credential_type" = inline(KindName), Path), NetworkPath, User, ActionId, Explain),
    responses(
        OpenResponses,
        (status = 200, description = "The answer.", body = EvmAttestation),
        (status = 404, response = UnknownCheck),
        (status = 400, response = BadQuestion),
    ),
)]
pub(super) async fn on_evm(
    Extract(state): Extract<State>,
    Path((kind, network)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(ask_evm(&state, &kind, &network, &QueryPairs::read(query.as_deref())).await)
}

async fn ask_evm(state: &State, kind: &str, network: &str, query: &QueryPairs<'_>) -> Result<String> {
    let kind = parameters::kind(kind)?;
    let user = query.need("user", "user address")?;
    let action_id = query.need("action-id", "action-id")?;
    let recipient = parameters::address(user)?;
    let action_id = parameters::action(action_id)?;
    let network = parameters::network(state.networks(), network, kind)?;
    let wanted = AttestationRequest { network, kind, recipient, action_id };
    let explain = query.explain()?;
    let (verdict, attested) = typed::attest(state, &wanted, explain).await?;
    let attested = attested.as_ref();
    let shown = EvmAttestation {
        domain: attested.map(|_| TypedDomain {
            chain_id: network.chain_id,
            name: typed::DOMAIN,
            version: typed::VERSION,
        }),
        is_unique: attested.is_some(),
        message: attested.map(|attested| TypedMessage {
            action_id: action_id.to_string(),
            expires_at: attested.expires_at,
            issued_at: attested.issued_at,
            kind: kind.as_str(),
            recipient: recipient.to_string(),
        }),
        reason: explain.then(|| verdict.reason()),
        signature: attested.map(|attested| format!("0x{}", hex::encode(&attested.signature))),
        signer: attested.map(|attested| attested.signer.clone()),
    };
    serde_json::to_string(&shown).map_err(|error| Error::Internal(error.into()))
}

/// Check clean hands of an EVM address, by the external index.
///
/// If the index fails, the response is 502, never false; without a configured index it is 503.
#[utoipa::path(
    get,
    path = "/attestation/clean-hands/{address}",
    tag = "Verification",
    operation_id = "checkCleanHands",
    params(AddressPath, Explain),
    responses(
        OpenResponses,
        (status = 200, description = "The answer.", body = IndexAnswer),
        (status = 502, response = IndexUnavailable),
        (status = 400, response = BadQuestion),
    ),
)]
pub(super) async fn by_index(
    Extract(state): Extract<State>,
    Path(address): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let query = QueryPairs::read(query.as_deref());
    answer(ask_index(&state.store, &state.index, &address, &query).await)
}

async fn ask_index(store: &Store, index: &Index, address: &str, query: &QueryPairs<'_>) -> Result<String> {
    let address = parameters::address(address)?;
    let explain = query.explain()?;
    let blocked = !blocklist::of_subject(store, address.into()).await?.is_empty();
    let found = if blocked { None } else { index.clean_hands(address).await? };
    let reason = if blocked { "blocked" } else { "none" };
    let shown = IndexAnswer {
        attestation_id: found.as_ref().map(|found| found.attestation_id.clone()),
        reason: explain.then_some(if found.is_some() { "valid" } else { reason }),
        result: found.is_some(),
        valid_until: found.as_ref().map(|found| found.valid_until),
    };
    serde_json::to_string(&shown).map_err(|error| Error::Internal(error.into()))
}

/// List the keys that signed attestations, newest first.
#[utoipa::path(
    get,
    path = "/attestation/keys",
    tag = "Verification",
    operation_id = "listAttestationKeys",
    responses(
        OpenResponses,
        (status = 200, description = "A key that is not active signs no longer.", body = AttestationKeys),
    ),
)]
pub(super) async fn list_keys(Extract(state): Extract<State>) -> Response {
    let shown = keys::list(&state).await.and_then(|rows| {
        let keys = AttestationKeys { keys: rows.iter().map(AttestationKey::from).collect() };
        serde_json::to_string(&keys).map_err(|error| Error::Internal(error.into()))
    });
    answer(shown)
}
