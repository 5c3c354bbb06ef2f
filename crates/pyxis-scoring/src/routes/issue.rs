//! Own Stamps, issued on request of the holder or of the holder's application (`docs/reference/behavior/scoring.md#own-stamps`).

use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::HeaderMap;
use axum::response::Response;
use pyxis_core::address::EvmAddress;
use pyxis_core::id::WorkspaceId;
use pyxis_core::stamp::StampName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ingest::read_object;
use super::parameters::Segments;
use super::{json, respond};
use crate::engine::IngestOutcome;
use crate::error::{Error, Result};
use crate::own::{self, IssueOutcome, IssueRequest, MAX_ISSUED};
use crate::score_metrics::METRICS;
use crate::state::State;
use crate::values::{AddressPath, IssueStatus};

/// Longest body, in bytes.
const MAX_BODY: usize = 256 * 1024;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IssueStampsRequest {
    #[schema(min_items = 1, max_items = 20)]
    stamps: Vec<RequestedStamp>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RequestedStamp {
    /// Name of an allow list or of an on-chain Stamp.
    #[schema(value_type = String)]
    provider: StampName,
    /// Token ids, or the UID of an attestation, where the Stamp wants them: numbers as text, or `0x` and hex digits.
    #[serde(default)]
    #[schema(max_items = 32)]
    items: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = IssuedStamps)]
pub(super) struct IssuedStampsResponse {
    /// One for each requested Stamp, in order.
    items: Vec<IssuedStamp>,
}

#[derive(Serialize, ToSchema)]
struct IssuedStamp {
    #[schema(value_type = String, example = "EarlyMember")]
    provider: StampName,
    #[schema(value_type = IssueStatus)]
    status: &'static str,
    /// With `rejected` and `unanswered`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<IssueError>,
}

#[derive(Serialize, ToSchema)]
struct IssueError {
    /// Position of the Stamp in the request, from 0.
    #[schema(minimum = 0)]
    index: usize,
    /// `not_on_list`, `condition_not_met`, `invalid_items`, `unknown_stamp`, `unknown_issuer`, `other_issuer`,
    /// `superseded`, `revoked`; with `unanswered`: `no_answer`.
    code: &'static str,
    detail: String,
}

/// Issue allow lists' and on-chain Stamps to an address.
///
/// For keys that may write. Each Stamp is issued if its rule holds for the address now, and stored at once. A Stamp that
/// the address has is renewed in the second half of its time, and `unchanged` before. `unanswered` is not a no: a node
/// or a contract gave no answer, so ask again later.
#[utoipa::path(
    post,
    path = "/v2/stamps/{address}/issue",
    tag = "Stamps API",
    operation_id = "issueStamps",
    security(("apiKey" = [])),
    params(
        AddressPath,
    ),
    request_body(content = IssueStampsRequest, example = json!({ "stamps": [{ "provider": "EarlyMember" }] })),
    responses(
        (status = 200, description = "The outcome of each Stamp, in the order of the request.", body = IssuedStampsResponse, example = json!({
            "items": [{ "provider": "EarlyMember", "status": "accepted" }]
        })),
    ),
)]
pub(crate) async fn issue_stamps(
    Extract(state): Extract<State>,
    segments: Segments,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(&state, &headers, async |caller| {
        let asked = read(body).await?;
        if !caller.can_write {
            return Err(Error::Forbidden);
        }
        issue_all(&state, caller.workspace, segments.address()?, asked).await
    })
    .await
}

pub(super) async fn read(body: Body) -> Result<IssueStampsRequest> {
    let asked: IssueStampsRequest = read_object(body, MAX_BODY).await?;
    if (1..=MAX_ISSUED).contains(&asked.stamps.len()) {
        return Ok(asked);
    }
    let message = format!("1 to {MAX_ISSUED} Stamps in one request, not {}", asked.stamps.len());
    Err(Error::Shape { path: vec!["stamps".to_owned()], message })
}

/// Issues each requested Stamp to an address, if its rule holds, and answers with the outcomes.
pub(super) async fn issue_all(
    state: &State,
    workspace: WorkspaceId,
    address: EvmAddress,
    asked: IssueStampsRequest,
) -> Result<Response> {
    let mut items = Vec::with_capacity(asked.stamps.len());
    for (index, RequestedStamp { provider, items: named }) in asked.stamps.into_iter().enumerate() {
        let request = IssueRequest { provider: provider.clone(), items: named };
        let outcome = Box::pin(own::issue(state, workspace, address, &request)).await?;
        items.push(item(index, provider, outcome));
    }
    let response = IssuedStampsResponse { items };
    Ok(json(serde_json::to_vec(&response).map_err(|error| Error::Internal(error.into()))?))
}

fn item(index: usize, provider: StampName, outcome: IssueOutcome) -> IssuedStamp {
    let (status, fault) = match outcome {
        IssueOutcome::Issued(IngestOutcome::Accepted) => ("accepted", None),
        IssueOutcome::Issued(IngestOutcome::Replaced) => ("replaced", None),
        IssueOutcome::Issued(IngestOutcome::Unchanged) => ("unchanged", None),
        IssueOutcome::Issued(IngestOutcome::Superseded) => (
            "rejected",
            Some(("superseded", "a credential of this name that was issued later is stored".to_owned())),
        ),
        IssueOutcome::Issued(IngestOutcome::Revoked) => {
            ("rejected", Some(("revoked", "this credential is revoked".to_owned())))
        }
        IssueOutcome::Refused { code, detail } => ("rejected", Some((code, detail))),
        IssueOutcome::Unanswered { detail } => ("unanswered", Some(("no_answer", detail))),
    };
    if matches!(status, "accepted" | "replaced") {
        METRICS.stamps.increment(1);
    }
    let error = fault.map(|(code, detail)| IssueError { index, code, detail });
    IssuedStamp { provider, status, error }
}
