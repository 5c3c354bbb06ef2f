//! Errors made of what the server answers. Its interfaces have three forms of error bodies.

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::error::{ApiError, ApiErrorKind, Error, InvalidEntry};
use crate::message::{NoResponse, Response};
use crate::retry::retry_after;

const MAX_DETAIL: usize = 500;

/// The error for a response that is no success.
pub(crate) fn api_error(response: &Response, attempts: u32, exhausted: bool, now: Timestamp) -> Error {
    let status = response.status;
    if status < 400 {
        let rest = "not a response of this operation; is base_url the address of Pyxis?";
        return Error::InvalidResponse(format!("{status}: {rest}"));
    }
    let members: Map<String, Value> = serde_json::from_slice(&response.body).unwrap_or_default();
    let member = |name: &str| members.get(name).and_then(Value::as_str).and_then(printable);
    let header = |name: &str| response.header(name).and_then(printable);
    let code = member("code").or_else(|| header("px-error"));
    Error::Api(Box::new(ApiError {
        kind: kind(status, code.as_deref()),
        status,
        title: member("title"),
        detail: detail(&members).unwrap_or_else(|| reason(status)),
        request_id: member("request_id").or_else(|| header("x-request-id")),
        retry_after: retry_after(response, now),
        attempts,
        exhausted,
        invalid: invalid(&members),
        code,
        members,
    }))
}

/// The error for no response.
pub(crate) fn transport_error(lack: NoResponse, attempts: u32, exhausted: bool) -> Error {
    let message = if exhausted && attempts > 1 {
        format!("given up after {attempts} attempts: {}", lack.reason)
    } else {
        lack.reason
    };
    let (may_have_arrived, timed_out) = (lack.may_have_arrived, lack.timed_out);
    Error::Transport { message, may_have_arrived, timed_out, attempts }
}

fn kind(status: u16, code: Option<&str>) -> ApiErrorKind {
    match status {
        _ if code == Some("outcome_unknown") => ApiErrorKind::OutcomeUnknown,
        400 => ApiErrorKind::BadRequest,
        401 => ApiErrorKind::Authentication,
        403 => ApiErrorKind::PermissionDenied,
        404 => ApiErrorKind::NotFound,
        409 => ApiErrorKind::Conflict,
        422 => ApiErrorKind::Unprocessable,
        429 => ApiErrorKind::RateLimited,
        502 | 504 => ApiErrorKind::Upstream,
        503 => ApiErrorKind::Unavailable,
        500.. => ApiErrorKind::Server,
        _ => ApiErrorKind::Other,
    }
}

/// A sentence: `detail` as text or as a list of bad parameters, or `error`.
fn detail(members: &Map<String, Value>) -> Option<String> {
    match members.get("detail") {
        Some(Value::Array(faults)) => {
            printable(&faults.iter().take(20).map(parameter).collect::<Vec<_>>().join("; "))
        }
        Some(Value::String(text)) => printable(text),
        _ => printable(members.get("error")?.as_str()?),
    }
}

fn parameter(fault: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let place: Vec<_> = fault["loc"].as_array().into_iter().flatten().map(text).collect();
    format!("{}: {}", place.join("."), text(&fault["msg"]))
}

fn invalid(members: &Map<String, Value>) -> Vec<InvalidEntry> {
    let entry = |each: &Value| {
        let text = |name: &str| each[name].as_str().map_or_else(|| each[name].to_string(), str::to_owned);
        let index = usize::try_from(each["index"].as_u64()?).ok()?;
        Some(InvalidEntry { index, value: text("value"), reason: text("reason") })
    };
    members.get("invalid").and_then(Value::as_array).into_iter().flatten().filter_map(entry).collect()
}

/// Text on one line that a terminal or log shows as it is.
fn printable(text: &str) -> Option<String> {
    let clean = |each: char| if each.is_control() { '\u{fffd}' } else { each };
    let text: String = text.chars().take(MAX_DETAIL).map(clean).collect();
    (!text.is_empty()).then_some(text)
}

fn reason(status: u16) -> String {
    let known = reqwest::StatusCode::from_u16(status).ok();
    known.and_then(|status| status.canonical_reason()).unwrap_or("no detail").to_owned()
}
