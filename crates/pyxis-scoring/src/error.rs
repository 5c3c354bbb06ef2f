//! Scoring errors, and the one place that maps them to responses (`docs/reference/errors.md#scoring`).

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_core::entries::{BadEntries, BadEntry};
use pyxis_core::score::DamagedRecord;
use pyxis_store::StoreError;
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::widget_error::WidgetError;
pub use pyxis_core::BoxError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reasons for an error response.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key is missing, unknown or no longer active.
    #[error("invalid API key")]
    InvalidKey,
    /// The key lacks the permission.
    #[error("invalid permissions for action")]
    Forbidden,
    /// The key's workspace has no such scorer.
    #[error("no such scorer")]
    NoScorer,
    /// Not an address.
    #[error("invalid address")]
    InvalidAddress,
    /// List entries that are not addresses.
    #[error("invalid addresses: {0}")]
    InvalidAddresses(BadEntries),
    /// List entries that are not strings.
    #[error("not strings: {0}")]
    NotTexts(&'static str, BadEntries),
    /// Outside 1 to 1000.
    #[error("invalid limit")]
    InvalidLimit,
    /// Not a token that this server issued.
    #[error("invalid token")]
    InvalidToken,
    /// The activity source failed.
    #[error("the source of activity failed")]
    Source(#[source] crate::models::SourceError),
    /// The path does not accept this method; its `Allow` header lists the methods that it does.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// A parameter is missing or malformed.
    #[error("invalid parameter: {}", .0.name)]
    Parameter(Parameter),
    /// A body that is not JSON or is too long, or another refusal with its own message.
    #[error("invalid input: {detail}")]
    Body {
        /// 400 or 413.
        status: StatusCode,
        /// Fault of the body.
        detail: String,
    },
    /// A JSON body that lacks a required member or has too many.
    #[error("invalid body: {message}")]
    Shape {
        /// Path to the fault, outermost first; empty for the whole body.
        path: Vec<String>,
        /// Fault at that place.
        message: String,
    },
    /// A score that was computed only in part is not signed.
    #[error("a score that was computed only in part is not signed")]
    PartialScore,
    /// The score exceeds what an attestation of EAS holds.
    #[error("the score exceeds what an attestation holds")]
    ScoreTooLarge,
    /// Too many requests in this window.
    #[error("rate limited")]
    RateLimited(Budget),
    /// The request took too long.
    #[error("timed out")]
    TimedOut,
    /// Other transactions kept changing the same rows.
    #[error("too busy")]
    Busy,
    /// The database does not respond.
    #[error("the database does not respond")]
    Unavailable(#[source] StoreError),
    /// A page's request that is refused.
    #[error("widget: {0}")]
    Widget(#[from] WidgetError),
    /// A fault of the server.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

/// A parameter that cannot be parsed.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// `path` or `query`.
    pub place: &'static str,
    pub name: &'static str,
    /// Kind of failure.
    pub kind: &'static str,
    /// Instruction for the client.
    pub message: &'static str,
}

impl From<DamagedRecord> for Error {
    fn from(error: DamagedRecord) -> Self {
        Self::Internal(error.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            // Another transaction was first: it stored the same row or removed one that this row depends on.
            StoreError::Conflict { .. } | StoreError::Reference => Self::Busy,
            _ if error.is_contended() => Self::Busy,
            StoreError::Unavailable(_) => Self::Unavailable(error),
            other => Self::Internal(Box::new(other)),
        }
    }
}

impl Error {
    /// The name is not a model's.
    pub(crate) fn no_model(name: &str) -> Self {
        let detail = format!("Invalid model name(s): {name}. Must be one of {}", crate::models::names());
        Self::Body { status: StatusCode::BAD_REQUEST, detail }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::InvalidKey => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NoScorer => StatusCode::NOT_FOUND,
            Self::InvalidAddress | Self::InvalidAddresses(_) | Self::InvalidLimit | Self::InvalidToken => {
                StatusCode::BAD_REQUEST
            }
            Self::Source(_) => StatusCode::BAD_GATEWAY,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Parameter(_) | Self::Shape { .. } | Self::NotTexts(..) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Body { status, .. } => *status,
            Self::Widget(refused) => refused.status(),
            Self::PartialScore | Self::ScoreTooLarge => StatusCode::CONFLICT,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(crate) fn detail(&self) -> Value {
        match self {
            Self::InvalidKey => "Invalid API Key.".into(),
            Self::Forbidden => "Invalid permissions for action.".into(),
            Self::NoScorer => "No scorer matches the given criteria.".into(),
            Self::InvalidAddress | Self::InvalidAddresses(_) => "Invalid address.".into(),
            Self::NotTexts(member, bad) => {
                let item = |entry: &BadEntry| {
                    let msg = format!("Input should be a valid string, not {}", entry.value);
                    json!({ "type": "string_type", "loc": ["body", member, entry.index], "msg": msg })
                };
                bad.named.iter().map(item).collect()
            }
            Self::InvalidLimit => "Invalid limit.".into(),
            Self::InvalidToken => "Invalid token.".into(),
            Self::Source(_) => "The source of activity does not answer. Try again later.".into(),
            Self::MethodNotAllowed => "Method Not Allowed".into(),
            Self::Parameter(wrong) => json!([{
                "type": wrong.kind, "loc": [wrong.place, wrong.name], "msg": wrong.message
            }]),
            Self::Body { detail, .. } => detail.as_str().into(),
            Self::Shape { path, message } => {
                let place: Vec<Value> =
                    std::iter::once("body".into()).chain(path.iter().map(|part| segment(part))).collect();
                json!([{ "type": "value_error", "loc": place, "msg": message }])
            }
            Self::PartialScore => {
                "The score could be computed only in part, so it is not signed. Read it unsigned for the reason.".into()
            }
            Self::ScoreTooLarge => {
                "The score or its threshold exceeds 429496.7295, the most that the attestation's schema holds.".into()
            }
            Self::RateLimited(_) => "You have been rate limited!".into(),
            Self::TimedOut => "Request timed out.".into(),
            Self::Widget(refused) => refused.detail().into(),
            Self::Busy | Self::Unavailable(_) => "The service is not available. Try again later.".into(),
            Self::Internal(_) => "Internal server error.".into(),
        }
    }
}

/// A part of a path: the position in a list, written `[0]`, is a number.
fn segment(part: &str) -> Value {
    let position = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
    position.and_then(|position| position.parse::<u64>().ok()).map_or_else(|| part.into(), Value::from)
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = self.status();
        if status.is_server_error() {
            let cause = std::error::Error::source(&self).map(ToString::to_string);
            tracing::warn!(error = %self, cause, "scoring request failed");
        }
        let mut body = json!({ "detail": self.detail() });
        if let Self::InvalidAddresses(bad) = &self {
            body["invalid"] = json!(bad.named);
            body["invalid_count"] = bad.count.into();
        }
        if let Self::Widget(refused) = &self {
            body["code"] = refused.code().into();
        }
        let mut response = (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response();
        if let Self::RateLimited(budget) = &self {
            budget.write(response.headers_mut());
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(budget.reset_secs.max(1)));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}
