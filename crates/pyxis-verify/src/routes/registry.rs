//! `POST /registry/proofs`: statements signed by issuers.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_http::json::Raw;
use pyxis_http::openapi::responses::BodyTooLarge;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::responses::{
    InvalidStatementField, NoLiveProof, OpenResponses, StatementConflict, StatementForbidden,
    StatementNotJson,
};
use crate::registry::{self, InvalidStatement, StatementBody, StatementEffect, StatementRejection};
use crate::state::State;
use crate::values::StatementStatus;

#[derive(Serialize, ToSchema)]
struct StatementEffectResponse {
    /// Block of the change.
    #[schema(example = 146_000_000)]
    height: i64,
    /// Number of the proof that was registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1)]
    id: Option<i64>,
    #[schema(value_type = StatementStatus)]
    status: &'static str,
}

/// Register what an issuer signed: a proof, its end, or its move to another address.
///
/// See `docs/reference/verification.md` for what is signed. Sending the same statement again changes nothing.
#[utoipa::path(
    post,
    path = "/registry/proofs",
    tag = "Verification",
    operation_id = "registerProof",
    request_body = StatementBody,
    responses(
        OpenResponses,
        (status = 201, description = "It took effect.", body = StatementEffectResponse),
        (status = 200, description = "It had taken effect before.", body = StatementEffectResponse),
        (status = 400, response = StatementNotJson),
        (status = 403, response = StatementForbidden),
        (status = 404, response = NoLiveProof),
        (status = 409, response = StatementConflict),
        (status = 413, response = BodyTooLarge),
        (status = 422, response = InvalidStatementField),
    ),
)]
pub(super) async fn submit(Extract(state): Extract<State>, Raw(body): Raw) -> Response {
    let signed = match registry::parse(&body) {
        Ok(signed) => signed,
        Err(error) => return invalid(&error),
    };
    match registry::submit(&state, &signed).await {
        Ok(outcome) => done(&outcome),
        Err(refusal) => rejection_response(&refusal),
    }
}

fn done(outcome: &StatementEffect) -> Response {
    let status = if outcome.new { StatusCode::CREATED } else { StatusCode::OK };
    let StatementEffect { status: effect, height, proof, .. } = outcome;
    relay_response(status, &json!(StatementEffectResponse { height: *height, id: *proof, status: effect }))
}

fn invalid(error: &InvalidStatement) -> Response {
    let (status, code) = match error {
        InvalidStatement::Json(error) if !error.is_data() => (StatusCode::BAD_REQUEST, "invalid_json"),
        InvalidStatement::Json(_) | InvalidStatement::Field { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid_field")
        }
    };
    relay_response(status, &json!({ "error": code, "detail": error.to_string() }))
}

fn rejection_response(refusal: &StatementRejection) -> Response {
    let status = match refusal {
        StatementRejection::IssuerNotAllowed | StatementRejection::BadSignature => StatusCode::FORBIDDEN,
        StatementRejection::AlreadyRegistered
        | StatementRejection::AddressTaken
        | StatementRejection::Superseded
        | StatementRejection::HasEnded(_) => StatusCode::CONFLICT,
        StatementRejection::NotFound => StatusCode::NOT_FOUND,
        StatementRejection::Field { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        StatementRejection::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        StatementRejection::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    if status.is_server_error() {
        let cause = std::error::Error::source(refusal).map(ToString::to_string);
        tracing::warn!(error = %refusal, cause, "cannot register a statement");
    }
    relay_response(status, &json!({ "error": refusal.code(), "detail": refusal.to_string() }))
}

fn relay_response(status: StatusCode, body: &Value) -> Response {
    let mut response = (status, body.to_string()).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
