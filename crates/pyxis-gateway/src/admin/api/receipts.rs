//! Receipts for people and agents, the keys that sign them, and `/.well-known/pyxis-receipt-keys`.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::TxnId;
use pyxis_http::admin::{CompleteList, Listed, Manager};
use pyxis_http::openapi::responses::{Forbidden, NotFound};
use pyxis_http::openapi::{Id, Time};
use pyxis_http::{Json, Path};
use pyxis_signing::receipt::ReceiptKeySet;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Approving;
use crate::admin::rights;
use crate::approvals::receipts;
use crate::approvals::receipts::keys::{self, ListedReceiptKey};
use crate::approvals::viewer_status::NOT_YOURS;
use crate::approvals::{agent_response, view};
use crate::credentials::requests::caller::CallerKey;
use crate::error::{Error, Result};
use crate::problems::{KeyJustRotated, ReceiptBeingPrepared, ReceiptNotReady};
use crate::runtime::state::State;
use crate::values;

/// Time for which a verifier may keep the keys.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// A receipt as a file to download.
fn download(txn: TxnId, receipt: String) -> Response {
    let mut response = receipt.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/jwt"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{}\"", receipts::file_name(txn)))
    {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// Get the receipt of a decided request.
///
/// A signed statement of what was asked, decided, sent and answered, which anyone can verify offline. Only for the key
/// that sent the request; 404 for other keys.
#[utoipa::path(
    get,
    path = "/agent/approvals/{txn_id}/receipt",
    tag = "Agent",
    operation_id = "getReceipt",
    security(("agentKey" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it.")),
    responses(
        (status = 200, description = "A compact JSON Web Signature.", body = String, content_type = "application/jwt"),
        (status = 404, response = NotFound),
        (status = 409, response = ReceiptNotReady),
        (status = 503, response = ReceiptBeingPrepared),
    ),
)]
pub(crate) async fn of_agent(
    Extract(state): Extract<State>,
    Path(txn): Path<String>,
    key: CallerKey,
) -> Result<Response> {
    let row = agent_response::current_row(&state, key, &txn).await?;
    Ok(download(row.txn_id, receipts::issue_for(&state, &row).await?))
}

/// Download the receipt of a decided request.
///
/// A signed statement of what was asked, decided, sent and answered, which anyone can verify offline.
#[utoipa::path(
    get,
    path = "/approvals/{txn_id}/receipt",
    tag = "Approvals",
    operation_id = "downloadReceipt",
    security(("session" = [])),
    params(("txn_id" = inline(Id), Path, description = "The transaction, as the 202 names it.")),
    responses(
        (status = 200, description = "A compact JSON Web Signature.", body = String, content_type = "application/jwt"),
        (status = 403, response = Forbidden),
        (status = 404, response = NotFound),
        (status = 409, response = ReceiptNotReady),
        (status = 503, response = ReceiptBeingPrepared),
    ),
)]
pub(super) async fn of_person(
    Extract(state): Extract<State>,
    Approving(caller): Approving,
    Path(txn): Path<String>,
) -> Result<Response> {
    let txn: TxnId = txn.parse().map_err(|_| Error::not_found("transaction"))?;
    let row = view::row(&state, caller.workspace(), txn).await?;
    if !rights::load(&state.store, &caller.user).await?.may_approve(row.credential_id) {
        return Err(Error::NotEligible(NOT_YOURS));
    }
    Ok(download(txn, receipts::issue_for(&state, &row).await?))
}

/// Read the public keys of receipts, as a JSON Web Key Set (RFC 7517).
///
/// Earlier keys stay published, because receipts do not expire.
#[utoipa::path(
    get,
    path = "/.well-known/pyxis-receipt-keys",
    tag = "Agent",
    operation_id = "getReceiptKeys",
    responses((status = 200, description = "The keys.", body = ReceiptKeySet)),
)]
pub(super) async fn published_keys(Extract(state): Extract<State>) -> Result<Response> {
    let mut response = Json(keys::published(&state).await?).into_response();
    response.headers_mut().insert(CACHE_CONTROL, CACHED);
    Ok(response)
}

/// A key that signs receipts.
#[derive(Serialize, ToSchema)]
#[schema(as = ReceiptKey)]
pub(super) struct ReceiptKeyResponse {
    #[schema(example = 1)]
    number: i64,
    /// `kid` of receipts.
    #[schema(example = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")]
    id: String,
    #[schema(value_type = values::ReceiptKeyStatus)]
    status: &'static str,
    #[schema(value_type = Time)]
    created_at: String,
    /// Time from which it is no longer published.
    #[schema(value_type = Option<Time>, required)]
    withdrawn_at: Option<String>,
}

impl Listed for ReceiptKeyResponse {
    const MEMBER: &'static str = "receipt_keys";
}

pub(super) type ReceiptKeyListResponse = CompleteList<ReceiptKeyResponse>;

fn key_response(key: &ListedReceiptKey) -> ReceiptKeyResponse {
    ReceiptKeyResponse {
        number: key.row.number,
        id: key.kid.clone(),
        status: key.status,
        created_at: key.row.created_at.to_rfc3339(),
        withdrawn_at: key.row.withdrawn_at.map(UnixMillis::to_rfc3339),
    }
}

/// List the keys that sign receipts.
#[utoipa::path(
    get,
    path = "/admin/receipt-keys",
    tag = "Approvals",
    operation_id = "listReceiptKeys",
    security(("session" = [])),
    responses((status = 200, description = "Every key, newest first.", body = ReceiptKeyListResponse)),
)]
pub(super) async fn list_keys(
    Extract(state): Extract<State>,
    Manager(_): Manager,
) -> Result<Json<ReceiptKeyListResponse>> {
    let keys = keys::list(&state).await?;
    Ok(Json(keys.iter().map(key_response).collect::<Vec<_>>().into()))
}

/// Manner of a rotation; may be `{}`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RotateReceiptKeyRequest {
    /// True if others may know the earlier keys: they are no longer published, and receipts must be issued again.
    #[serde(default)]
    compromised: bool,
}

/// Sign receipts with a new key. Earlier keys stay published.
#[utoipa::path(
    post,
    path = "/admin/receipt-keys/rotate",
    tag = "Approvals",
    operation_id = "rotateReceiptKey",
    security(("session" = [])),
    request_body(content = RotateReceiptKeyRequest, example = json!({})),
    responses(
        (status = 200, description = "The new key.", body = ReceiptKeyResponse),
        (status = 403, response = Forbidden),
        (status = 409, response = KeyJustRotated),
    ),
)]
pub(super) async fn rotate_key(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Json(how): Json<RotateReceiptKeyRequest>,
) -> Result<Json<ReceiptKeyResponse>> {
    Ok(Json(key_response(&keys::rotate(&state, &actor, how.compromised).await?)))
}
