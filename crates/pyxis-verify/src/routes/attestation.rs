//! `/attestation/…`: clean hands on Sui and by the external index, attestations for EVM contracts, and the keys that
//! signed them.

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::hex;
use pyxis_core::proof::Kind;
use pyxis_store::blocklist;
use serde::Serialize;
use serde_json::{Value, json};

use super::answer;
use super::parameters::{self, QueryPairs};
use crate::attestation::typed::{self, AttestationRequest};
use crate::attestation::{keys, sui};
use crate::error::{Error, Result};
use crate::state::State;

/// Response for Sui (`docs/reference/behavior/verification.md#attestations`).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OnSui {
    is_unique: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    circuit_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issued_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// `GET /attestation/sbts/clean-hands`
pub(super) async fn on_sui(Extract(state): Extract<State>, RawQuery(query): RawQuery) -> Response {
    answer(ask_sui(&state, &QueryPairs::read(query.as_deref())).await)
}

async fn ask_sui(state: &State, query: &QueryPairs<'_>) -> Result<String> {
    let address = query.need("address", "address")?;
    let action_id = query.need("action-id", "action-id")?;
    let address = address.parse().map_err(|_| Error::InvalidUser)?;
    let action_id = parameters::action(action_id)?;
    let explain = query.explain();
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

/// `GET /attestation/evm/{credential_type}/{network}`
pub(super) async fn on_evm(
    Extract(state): Extract<State>,
    Path((kind, network)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(ask_evm(&state, &kind, &network, &QueryPairs::read(query.as_deref())).await)
}

async fn ask_evm(state: &State, kind: &str, network: &str, query: &QueryPairs<'_>) -> Result<String> {
    let kind = Kind::from_name(kind).ok_or(Error::UnknownKind)?;
    let user = query.need("user", "user address")?;
    let action_id = query.need("action-id", "action-id")?;
    let recipient = parameters::address(user)?;
    let action_id = parameters::action(action_id)?;
    let network = parameters::network(state.networks(), network, kind)?;
    let wanted = AttestationRequest { network, kind, recipient, action_id };
    let explain = query.explain();
    let (verdict, attested) = typed::attest(state, &wanted, explain).await?;
    let mut shown = json!({ "isUnique": attested.is_some() });
    if let Some(attested) = attested {
        shown["signature"] = format!("0x{}", hex::encode(&attested.signature)).into();
        shown["signer"] = attested.signer.into();
        shown["domain"] =
            json!({ "name": typed::DOMAIN, "version": typed::VERSION, "chainId": network.chain_id });
        shown["message"] = json!({
            "kind": kind.as_str(),
            "recipient": recipient.to_string(),
            "actionId": action_id.to_string(),
            "issuedAt": attested.issued_at,
            "expiresAt": attested.expires_at,
        });
    }
    if explain {
        shown["reason"] = verdict.reason().into();
    }
    Ok(shown.to_string())
}

/// `GET /attestation/clean-hands/{address}`
pub(super) async fn by_index(
    Extract(state): Extract<State>,
    Path(address): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(ask_index(&state, &address, QueryPairs::read(query.as_deref()).explain()).await)
}

async fn ask_index(state: &State, address: &str, explain: bool) -> Result<String> {
    let address = parameters::address(address)?;
    let blocked = !blocklist::of_subject(&state.store, address.into()).await?.is_empty();
    let found = if blocked { None } else { state.index.clean_hands(address).await? };
    let mut shown = json!({ "result": found.is_some() });
    if let Some(found) = &found {
        shown["validUntil"] = found.valid_until.into();
        shown["attestationId"] = found.attestation_id.clone().map_or(Value::Null, Value::from);
    }
    if explain {
        let reason = if blocked { "blocked" } else { "none" };
        shown["reason"] = if found.is_some() { "valid" } else { reason }.into();
    }
    Ok(shown.to_string())
}

/// `GET /attestation/keys`
pub(super) async fn list_keys(Extract(state): Extract<State>) -> Response {
    let keys = keys::list(&state).await.map(|rows| {
        let rows: Vec<Value> = rows.iter().map(keys::shown).collect();
        json!({ "keys": rows }).to_string()
    });
    answer(keys)
}
