//! `POST /v2/stamps/{scorer_id}/scores`: up to 1,000 addresses at once
//! (`docs/reference/behavior/scoring.md#endpoints`).

use std::borrow::Cow;
use std::collections::HashMap;

use axum::body::Body;
use axum::extract::{RawQuery, State as Extract};
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::entries::{self, BadEntries, BadEntry};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::ingest::read_object;
use super::latest::{ScoreBody, known_scorer};
use super::parameters::{QueryPairs, Segments};
use super::responses::NoScorer;
use super::shared::{ScorerPath, Strict};
use super::{json, respond};
use crate::address;
use crate::batch_scores::{self, Purpose};
use crate::error::{Error, Result};
use crate::state::State;
use crate::values::{EntryErrorCode, INVALID_ADDRESS};

/// Maximum number of addresses in one request.
const MOST: usize = 1000;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScoresRequest)]
struct BatchRequest {
    #[schema(value_type = Vec<String>, max_items = 1000)]
    addresses: Vec<Value>,
}

/// An item of the response.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "records are written as text; this is the description of an item")]
enum ScoreEntry {
    Record(Box<ScoreBody>),
    Failed(FailedEntry),
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
struct ScoreEntries {
    items: Vec<ScoreEntry>,
}

/// An entry of the request that has no score. Its `error` is an object; that of a score record is null or a text.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedScore)]
struct FailedEntry {
    /// The entry as it was sent, shortened to 100 characters.
    #[schema(example = "0x5a5a")]
    address: String,
    error: EntryError,
}

#[derive(Serialize, ToSchema)]
#[schema(as = FailedScoreReason)]
struct EntryError {
    /// Position in `addresses`, from 0.
    #[schema(minimum = 0, example = 1)]
    index: usize,
    #[schema(value_type = EntryErrorCode)]
    code: &'static str,
    #[schema(example = "not an address: write 0x followed by 40 hex characters")]
    detail: String,
}

impl From<BadEntry> for FailedEntry {
    fn from(bad: BadEntry) -> Self {
        let error = EntryError { index: bad.index, code: INVALID_ADDRESS, detail: bad.reason };
        Self { address: bad.value, error }
    }
}

/// Read the scores of many addresses.
///
/// Counts as one request, whatever the number of addresses, and adds nothing to the history. An entry that is not an
/// address has an `error` object with its `index` instead of a score, and the others have theirs. With `strict=true`
/// one such entry is 400: `invalid` lists up to 20 of them (`index`, `value`, `reason`), and `invalid_count` is their
/// number.
#[utoipa::path(
    post,
    path = "/v2/stamps/{scorer_id}/scores",
    tag = "Stamps API",
    operation_id = "listScores",
    security(("apiKey" = [])),
    params(ScorerPath, Strict),
    request_body(content = BatchRequest, example = json!({"addresses": ["0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1"]})),
    responses(
        (status = 200, description = "An item for each address, in the order of the request.", body = ScoreEntries),
        (status = 404, response = NoScorer),
    ),
)]
pub(crate) async fn list_scores(
    Extract(state): Extract<State>,
    segments: Segments,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, async |caller| {
        let scorer = segments.scorer();
        if let Err(error @ Error::Parameter(_)) = scorer {
            return Err(error);
        }
        let strict = QueryPairs::read(query.as_deref()).switch("strict")?;
        let asked: BatchRequest = read_object(body, 64 * 1024).await?;
        if asked.addresses.len() > MOST {
            let message = format!("at most {MOST} addresses in one request");
            return Err(Error::Shape { path: vec!["addresses".to_owned()], message });
        }
        if strict {
            check_strings(&asked.addresses)?;
        }
        if !caller.can_read {
            return Err(Error::Forbidden);
        }
        let scorer = known_scorer(&state.store, state.now(), caller.workspace, scorer?).await?;
        let entries = if strict { strictly(&asked.addresses)? } else { one_by_one(&asked.addresses) };
        let addresses: Vec<EvmAddress> =
            entries.iter().filter_map(|entry| entry.as_ref().ok().copied()).collect();
        let records = batch_scores::records(&state, &scorer, &addresses, Purpose::Read).await?;
        render(entries, &records).map(json)
    })
    .await
}

fn render(
    entries: Vec<Result<EvmAddress, BadEntry>>,
    records: &HashMap<EvmAddress, String>,
) -> Result<String> {
    let length = records.values().map(|record| record.len() + 1).sum::<usize>() + 16;
    let mut text = String::with_capacity(length);
    text.push_str("{\"items\":[");
    for (index, entry) in entries.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match entry {
            Ok(address) => text.push_str(&records[&address]),
            Err(bad) => {
                let failed = serde_json::to_string(&FailedEntry::from(bad));
                text.push_str(&failed.map_err(|error| Error::Internal(error.into()))?);
            }
        }
    }
    text.push_str("]}");
    Ok(text)
}

/// Each entry as an address, or the reason why it is not one.
fn one_by_one(addresses: &[Value]) -> Vec<Result<EvmAddress, BadEntry>> {
    let texts: Vec<Cow<'_, str>> = addresses
        .iter()
        .map(|value| value.as_str().map_or_else(|| value.to_string().into(), Cow::from))
        .collect();
    entries::read_each(texts.iter().map(|text| &**text), address::read)
}

/// All entries as addresses; every other entry is reported.
fn strictly(addresses: &[Value]) -> Result<Vec<Result<EvmAddress, BadEntry>>> {
    let found = entries::read(addresses.iter().filter_map(Value::as_str), address::read);
    Ok(found.map_err(Error::InvalidAddresses)?.into_iter().map(Ok).collect())
}

/// Reports every entry that is not a string.
fn check_strings(addresses: &[Value]) -> Result<()> {
    let mut bad = BadEntries::default();
    for (index, value) in addresses.iter().enumerate().filter(|(_, value)| !value.is_string()) {
        bad.add(index, &value.to_string(), "not a string");
    }
    bad.or(()).map_err(|bad| Error::NotTexts("addresses", bad))
}
