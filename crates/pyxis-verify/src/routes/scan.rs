//! An attestation index in the external one's format, for the clean-hands proofs in the registry
//! (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`). So a deployment can be its own
//! index.

use axum::extract::{Path, RawQuery, State as Extract};
use axum::response::Response;
use pyxis_core::proof::{Kind, Subject};
use pyxis_store::attestation_keys::Scheme;
use pyxis_store::blocklist;
use pyxis_store::proofs::{self, ProofRow};
use serde::Serialize;
use utoipa::ToSchema;

use super::answer;
use super::parameters::QueryPairs;
use super::responses::{BadQuestion, OpenResponses};
use super::shared::AddressPath;
use crate::attestation::keys;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::state::State;

/// Characters of an EVM address.
const EVM_LENGTH: usize = 42;
/// Rows per page.
const PAGE: usize = 100;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AttestationPage {
    data: AttestationPageData,
    #[schema(example = "ok")]
    message: &'static str,
    #[schema(example = 200)]
    status_code: u16,
    success: bool,
}

#[derive(Serialize, ToSchema)]
struct AttestationPageData {
    #[schema(example = 1)]
    page: usize,
    rows: Vec<IndexedAttestation>,
    #[schema(example = 100)]
    size: usize,
    #[schema(example = 1)]
    total: usize,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct IndexedAttestation {
    #[schema(example = "pyxis_1")]
    attestation_id: String,
    #[schema(example = "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e")]
    attester: String,
    #[schema(example = "onchain_evm_10_0x8")]
    full_schema_id: String,
    is_receiver: bool,
    revoked: bool,
    /// Unix seconds.
    #[schema(example = 1_801_386_300)]
    valid_until: i64,
}

/// List clean-hands proofs of the registry, in the format of the external index.
#[utoipa::path(
    get,
    path = "/api/scan/addresses/{address}/attestations",
    tag = "Verification",
    operation_id = "scanAttestations",
    params(
        AddressPath,
        ("page" = Option<u64>, Query, minimum = 1),
        ("size" = Option<u64>, Query, minimum = 1, maximum = 100),
    ),
    responses(
        OpenResponses,
        (status = 200, description = "A page.", body = AttestationPage),
        (status = 400, response = BadQuestion),
    ),
)]
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
    let shown = rows
        .iter()
        .skip((page - 1).saturating_mul(size))
        .take(size)
        .map(|row| indexed_attestation(&state.config, row, &attester, blocked))
        .collect();
    let data = AttestationPageData { page, rows: shown, size, total: rows.len() };
    let page = AttestationPage { data, message: "ok", status_code: 200, success: true };
    serde_json::to_string(&page).map_err(|error| Error::Internal(error.into()))
}

/// An EVM address, or a Sui address with or without its leading zeros. A text shorter than an EVM address counts as
/// truncated.
fn subject(text: &str) -> Option<Subject> {
    let subject: Subject = text.parse().ok()?;
    (text.len() >= EVM_LENGTH).then_some(subject)
}

fn indexed_attestation(config: &Config, row: &ProofRow, attester: &str, blocked: bool) -> IndexedAttestation {
    IndexedAttestation {
        attestation_id: format!("pyxis_{}", row.id),
        attester: attester.to_owned(),
        full_schema_id: config.attestation.schema.clone(),
        is_receiver: true,
        revoked: blocked || row.ended.is_some(),
        valid_until: row.expires_at.seconds(),
    }
}

fn number(query: &QueryPairs<'_>, name: &str, default: usize, most: usize) -> Result<usize> {
    let Some(text) = query.find(name) else { return Ok(default) };
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or(Error::InvalidPage)
}
