//! `/admin/quiet-hours`: quiet hours of the caller.

use axum::extract::State as Extract;
use http::StatusCode;
use pyxis_http::Json;
use pyxis_http::openapi::responses::{InvalidField, NotFound};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SignedIn;
use crate::admin::quiet_hours;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Hours of the day in which messages to a person wait.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QuietHours)]
pub(super) struct QuietHoursBody {
    /// IANA name of a time zone.
    #[schema(max_length = 64, min_length = 1, example = "Europe/Berlin")]
    time_zone: String,
    /// First quiet minute of the day, as `HH:MM`.
    #[schema(max_length = 5, example = "22:00")]
    from: String,
    /// First minute after the quiet hours, as `HH:MM`. Earlier than `from` means the next day.
    #[schema(max_length = 5, example = "07:00")]
    to: String,
}

fn body(hours: &pyxis_core::quiet_hours::QuietHours) -> Json<QuietHoursBody> {
    Json(QuietHoursBody { time_zone: hours.zone().to_owned(), from: hours.from_text(), to: hours.to_text() })
}

/// Get your quiet hours.
///
/// Requires a session.
#[utoipa::path(
    get,
    path = "/admin/quiet-hours",
    tag = "People",
    operation_id = "showQuietHours",
    security(("session" = [])),
    responses(
        (status = 200, description = "Your quiet hours.", body = QuietHoursBody, example = json!({"time_zone": "Europe/Berlin", "from": "22:00", "to": "07:00"})),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn show(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
) -> Result<Json<QuietHoursBody>> {
    let hours = quiet_hours::get(&state.store, &person.user).await?;
    Ok(body(&hours.ok_or(Error::not_found("quiet hours"))?))
}

/// Set your quiet hours.
///
/// Private chat messages and browser notifications to you wait until the end. Quiet hours do not apply if you are on
/// call for the credential, or are the only one who may decide. Requires a session.
#[utoipa::path(
    put,
    path = "/admin/quiet-hours",
    tag = "People",
    operation_id = "setQuietHours",
    security(("session" = [])),
    request_body(content = QuietHoursBody, example = json!({"time_zone": "Europe/Berlin", "from": "22:00", "to": "07:00"})),
    responses(
        (status = 200, description = "Your quiet hours.", body = QuietHoursBody),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn put(
    Extract(state): Extract<State>,
    SignedIn(person): SignedIn,
    Json(input): Json<QuietHoursBody>,
) -> Result<Json<QuietHoursBody>> {
    let QuietHoursBody { time_zone, from, to } = input;
    let hours = quiet_hours::set(&state.audited, &person.into_caller(), &time_zone, &from, &to).await?;
    Ok(body(&hours))
}

/// Remove your quiet hours.
///
/// Requires a session.
#[utoipa::path(
    delete,
    path = "/admin/quiet-hours",
    tag = "People",
    operation_id = "removeQuietHours",
    security(("session" = [])),
    responses(
        (status = 204, description = "Removed."),
        (status = 404, response = NotFound),
    ),
)]
pub(super) async fn remove(Extract(state): Extract<State>, SignedIn(person): SignedIn) -> Result<StatusCode> {
    quiet_hours::remove(&state.audited, &person.into_caller()).await?;
    Ok(StatusCode::NO_CONTENT)
}
