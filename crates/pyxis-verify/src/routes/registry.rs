//! `POST /registry/proofs`: statements signed by issuers.

use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_http::json::Raw;
use serde_json::{Value, json};

use crate::registry::{self, InvalidStatement, StatementEffect, StatementRejection};
use crate::state::State;

pub(super) async fn submit(Extract(state): Extract<State>, Raw(body): Raw) -> Response {
    let signed = match registry::parse(&body) {
        Ok(signed) => signed,
        Err(error) => return invalid(&error),
    };
    match registry::submit(&state, &signed).await {
        Ok(outcome) => done(&outcome),
        Err(refusal) => refused(&refusal),
    }
}

fn done(outcome: &StatementEffect) -> Response {
    let status = if outcome.new { StatusCode::CREATED } else { StatusCode::OK };
    let mut body = json!({ "status": outcome.status, "height": outcome.height });
    if let Some(id) = outcome.proof {
        body["id"] = id.into();
    }
    told(status, &body)
}

fn invalid(error: &InvalidStatement) -> Response {
    let (status, code) = match error {
        InvalidStatement::Json(error) if !error.is_data() => (StatusCode::BAD_REQUEST, "invalid_json"),
        InvalidStatement::Json(_) | InvalidStatement::Field { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid_field")
        }
    };
    told(status, &json!({ "error": code, "detail": error.to_string() }))
}

fn refused(refusal: &StatementRejection) -> Response {
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
    told(status, &json!({ "error": refusal.code(), "detail": refusal.to_string() }))
}

fn told(status: StatusCode, body: &Value) -> Response {
    let mut response = (status, body.to_string()).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
