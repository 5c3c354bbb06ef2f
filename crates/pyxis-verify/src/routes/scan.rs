//! An attestation index in the external one's format, for the clean-hands proofs in the registry
//! (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`). So a deployment can be its own
//! index.

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::proof::{Kind, Subject};
use pyxis_store::attestation_keys::Scheme;
use pyxis_store::blocklist;
use pyxis_store::proofs::{self, ProofRow};
use serde_json::{Value, json};

use super::answer;
use super::parameters::QueryPairs;
use crate::attestation::keys;
use crate::error::{Error, Result};
use crate::state::State;

/// Characters of an EVM address.
const EVM_LENGTH: usize = 42;
/// Rows per page.
const PAGE: usize = 100;

pub(super) async fn attestations(
    Extract(state): Extract<State>,
    Path(address): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    answer(list(&state, &address, &QueryPairs::read(query.as_deref())).await)
}

async fn list(state: &State, address: &str, query: &QueryPairs<'_>) -> Result<String> {
    let subject = subject(address).ok_or(Error::InvalidUser)?;
    let page = number(query, "page", 1, usize::MAX)?;
    let size = number(query, "size", PAGE, PAGE)?;
    let attester = match state.config.attestation.attester {
        Some(attester) => attester.to_string(),
        None => keys::active(state, Scheme::Eip712).await?.public_key,
    };
    let blocked = !blocklist::of_subject(&state.store, subject).await?.is_empty();
    let mut rows = proofs::of_subject(&state.store, subject).await?;
    rows.retain(|row| row.kind == Kind::CleanHands);
    let shown: Vec<Value> = rows
        .iter()
        .skip((page - 1).saturating_mul(size))
        .take(size)
        .map(|row| shown(state, row, &attester, blocked))
        .collect();
    let data = json!({ "total": rows.len(), "page": page, "size": size, "rows": shown });
    Ok(json!({ "success": true, "statusCode": 200, "data": data, "message": "ok" }).to_string())
}

/// An EVM address, or a Sui address with or without its leading zeros. A text shorter than an EVM address counts as
/// truncated.
fn subject(text: &str) -> Option<Subject> {
    let subject: Subject = text.parse().ok()?;
    (text.len() >= EVM_LENGTH).then_some(subject)
}

fn shown(state: &State, row: &ProofRow, attester: &str, blocked: bool) -> Value {
    json!({
        "attestationId": format!("pyxis_{}", row.id),
        "fullSchemaId": state.config.attestation.schema,
        "attester": attester,
        "isReceiver": true,
        "revoked": blocked || row.ended.is_some(),
        "validUntil": row.expires_at.seconds(),
    })
}

fn number(query: &QueryPairs<'_>, name: &str, default: usize, most: usize) -> Result<usize> {
    let Some(text) = query.find(name) else { return Ok(default) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or(Error::InvalidPage)
}
