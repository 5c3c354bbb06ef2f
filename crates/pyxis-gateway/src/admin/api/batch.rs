//! `/approvals/decide`: several decisions in one request.

use axum::extract::State as Extract;
use pyxis_core::grant::DecisionSurface;
use pyxis_http::openapi::problem_reference;
use pyxis_http::openapi::responses::Forbidden;
use pyxis_http::{Json, Problem};
use pyxis_store::votes::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Approving;
use super::approvals::{DecisionResponse, auth_method};
use crate::approvals::batch::{self, BatchItem};
use crate::approvals::decide::DecisionOutcome;
use crate::error::{Error, Result};
use crate::problems::InvalidDecisions;
use crate::runtime::state::State;
use crate::values;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DecisionItem)]
struct ItemInput {
    /// A transaction of the list `GET /approvals`.
    txn_id: String,
    #[schema(value_type = values::VoteVerdict)]
    verdict: String,
    /// Reason of a denial for the agent, or note on an approval for the record. At most 2000 bytes.
    #[schema(nullable = false, max_length = 2000)]
    reason: Option<String>,
    /// Digest of the request that was read, from the list. Needed to approve a request that was edited.
    #[schema(nullable = false)]
    digest: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DecisionsInput)]
pub(super) struct Decisions {
    /// Each transaction once.
    #[schema(min_items = 1, max_items = 100)]
    decisions: Vec<ItemInput>,
}

/// Result of one decision, as its own request would have answered it: `outcome` with a `status` of 200, else `problem`.
#[derive(Serialize, ToSchema)]
#[schema(as = DecisionResult)]
pub(super) struct ItemResponse {
    /// As in the request.
    txn_id: String,
    /// HTTP status of the single request.
    #[schema(minimum = 200, maximum = 599)]
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outcome: Option<DecisionResponse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = problem_reference)]
    problem: Option<Value>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DecisionResults)]
pub(super) struct DecisionResults {
    /// In the order of the request.
    results: Vec<ItemResponse>,
}

impl ItemResponse {
    fn new(txn_id: String, result: Result<DecisionOutcome>) -> Self {
        let (status, outcome, problem) = match result {
            Ok(decided) => (200, Some(decided.into()), None),
            Err(error) => {
                let problem = Problem::from(&error);
                (problem.status().as_u16(), None, Some(problem.document(None)))
            }
        };
        Self { txn_id, status, outcome, problem }
    }
}

fn parse(place: usize, input: ItemInput) -> Result<BatchItem> {
    let ItemInput { txn_id, verdict, reason, digest } = input;
    let verdict = match verdict.as_str() {
        "approve" => Verdict::Approve,
        "deny" => Verdict::Deny,
        _ => {
            let detail = format!("decisions[{place}].verdict must be approve or deny");
            return Err(Error::InvalidDecisions(detail));
        }
    };
    Ok(BatchItem { id: txn_id, verdict, reason, digest })
}

/// Decide several requests.
///
/// Each is decided alone, in order, with the same checks as by its own request. The failure of one does not touch
/// another. No grant can be opened here. A transaction that needs a passkey answers `passkey_required`.
#[utoipa::path(
    post,
    path = "/approvals/decide",
    tag = "Approvals",
    operation_id = "decideApprovals",
    security(("session" = [])),
    request_body(content = Decisions, example = json!({"decisions": [
        {"txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11", "verdict": "approve"},
        {"txn_id": "0b6a1c2e-6b1d-4b0e-8a55-1f0f5a3f7b22", "verdict": "deny", "reason": "Use the staging repository"}
    ]})),
    responses(
        (status = 200, description = "One result for each decision, in the order of the request.", body = DecisionResults, example = json!({"results": [
            {
                "txn_id": "7d9f5e0a-4f0b-4a53-9a3e-3a1f6d2f8c11",
                "status": 200,
                "outcome": {"status": "approved", "approvals": 1, "min_approvals": 1}
            },
            {
                "txn_id": "0b6a1c2e-6b1d-4b0e-8a55-1f0f5a3f7b22",
                "status": 409,
                "problem": {
                    "type": "about:blank",
                    "title": "Conflict",
                    "status": 409,
                    "code": "already_decided",
                    "detail": "already decided",
                    "state": "denied"
                }
            }
        ]})),
        (status = 400, response = InvalidDecisions),
        (status = 403, response = Forbidden),
    ),
)]
pub(super) async fn decide(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Json(input): Json<Decisions>,
) -> Result<Json<DecisionResults>> {
    let items = input.decisions.into_iter().enumerate().map(|(place, item)| parse(place, item));
    let items = items.collect::<Result<Vec<_>>>()?;
    let approver = caller.approver(DecisionSurface::Api);
    let results = batch::decide_each(&state, &approver, &items, &auth_method(&caller)).await?;
    let results = items.into_iter().zip(results).map(|(item, result)| ItemResponse::new(item.id, result));
    Ok(Json(DecisionResults { results: results.collect() }))
}
