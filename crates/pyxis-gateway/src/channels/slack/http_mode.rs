//! Signed requests of Slack (<https://docs.slack.dev/authentication/verifying-requests-from-slack/>).

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use hmac::{Hmac, KeyInit, Mac};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;
use pyxis_http::openapi::responses::{Internal, NotFound, SignInNeeded, Unavailable};
use serde_json::json;
use sha2::Sha256;
use tokio::time::timeout;
use url::form_urlencoded;
use utoipa::ToSchema;

use super::reports::{EventRequest, Report};
use super::{Bot, actions};
use crate::error::{Error, Result};
use crate::runtime::state::State;
use crate::runtime::survival::caught;

/// Largest difference between Slack's clock and this one, in seconds.
const MAX_AGE: u64 = 5 * 60;
/// Time that Slack's request waits for the outcome. Slack waits three seconds.
const PROMPT: Duration = Duration::from_millis(2500);
const TIMESTAMP: &str = "x-slack-request-timestamp";
const SIGNATURE: &str = "x-slack-signature";

/// A form with one field.
#[derive(ToSchema)]
#[schema(as = SlackInteraction, description = "An interaction.")]
struct InteractionForm {
    /// The interaction as JSON.
    payload: String,
}

impl InteractionForm {
    fn read(body: &[u8]) -> Result<Self> {
        let payload = form_urlencoded::parse(body).find(|(name, _)| name == "payload");
        let (_, payload) = payload.ok_or_else(|| Error::InvalidJson("the form has no payload".to_owned()))?;
        Ok(Self { payload: payload.into_owned() })
    }
}

/// Receive an event or an interaction of the Slack app.
///
/// Served only if `PX_SLACK_SIGNING_SECRET` is set. In Socket Mode Slack sends the same over a WebSocket.
#[utoipa::path(
    post,
    path = "/slack/events",
    tag = "Approvals",
    operation_id = "takeSlackEvent",
    params(
        ("X-Slack-Request-Timestamp" = String, Header, description = "Time of the request, in seconds since 1970."),
        ("X-Slack-Signature" = String, Header, description = "HMAC-SHA256 of the time and the body."),
    ),
    request_body(content((EventRequest = "application/json"), (InteractionForm = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "Accepted."),
        (status = 401, response = SignInNeeded),
        (status = 404, response = NotFound),
        (status = 500, response = Internal),
        (status = 503, response = Unavailable),
    ),
)]
pub(crate) async fn receive(
    Extract(state): Extract<State>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response> {
    let bot = Bot::from_settings(&state.config).ok_or(Error::not_found("webhook"))?;
    let secret = bot.config.signing_secret.as_ref().ok_or(Error::not_found("webhook"))?;
    if !is_signed(secret, &headers, &body, state.now()) {
        return Err(Error::Unauthenticated);
    }
    let update = read(&headers, &body)?;
    if let Report::Event(event) = &update
        && event.kind == "url_verification"
    {
        return Ok(Json(json!({ "challenge": event.challenge })).into_response());
    }
    // It goes on if Slack does not wait.
    let handling =
        tokio::spawn(async move { caught("slack", Box::pin(actions::handle(&state, &bot, update))).await });
    match timeout(PROMPT, handling).await {
        Ok(Ok(handled)) => handled?,
        Ok(Err(error)) => return Err(Error::Internal(error.into())),
        Err(_) => {}
    }
    Ok(StatusCode::OK.into_response())
}

/// An interaction is a form with one field, an event is JSON.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Report> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let invalid = |error: serde_json::Error| Error::InvalidJson(error.to_string());
    if kind.starts_with("application/x-www-form-urlencoded") {
        let form = InteractionForm::read(body)?;
        return serde_json::from_str(&form.payload).map_err(invalid).map(Report::Interaction);
    }
    serde_json::from_slice(body).map_err(invalid).map(Report::Event)
}

/// True if Slack signed this body within the last minutes. Compares in constant time.
fn is_signed(secret: &SecretString, headers: &HeaderMap, body: &[u8], now: UnixMillis) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(timestamp), Some(signature)) = (text(TIMESTAMP), text(SIGNATURE)) else { return false };
    let Ok(sent_at) = timestamp.parse::<i64>() else { return false };
    if now.seconds().abs_diff(sent_at) > MAX_AGE {
        return false;
    }
    let Some(sent) = signature.strip_prefix("v0=").and_then(hex::decode) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else { return false };
    for part in [b"v0:", timestamp.as_bytes(), b":", body] {
        mac.update(part);
    }
    mac.verify_slice(&sent).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Slack's documentation.
    const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
    const AT: &str = "1531420618";
    const SIGNED: &str = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    const BODY: &str = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

    fn check(timestamp: Option<&str>, signature: Option<&str>, body: &str, now_secs: i64) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [(TIMESTAMP, timestamp), (SIGNATURE, signature)] {
            headers.extend(value.map(|value| (http::HeaderName::from_static(name), value.parse().unwrap())));
        }
        let secret = SecretString::new(SECRET.to_owned());
        is_signed(&secret, &headers, body.as_bytes(), UnixMillis(now_secs * 1000))
    }

    #[test]
    fn the_example_of_slack_is_accepted_for_five_minutes_and_nothing_else() {
        let sent_at = 1_531_420_618;
        for now in [sent_at, sent_at + 300, sent_at - 300] {
            assert!(check(Some(AT), Some(SIGNED), BODY, now), "{now}");
        }
        for now in [sent_at + 301, sent_at - 301, 0, i64::MAX / 1000] {
            assert!(!check(Some(AT), Some(SIGNED), BODY, now), "{now}");
        }
        let upper = SIGNED.replacen("v0=a", "v0=b", 1);
        for (timestamp, signature, body) in [
            (None, Some(SIGNED), BODY),
            (Some(AT), None, BODY),
            (Some(""), Some(SIGNED), BODY),
            (Some("1531420619"), Some(SIGNED), BODY),
            (Some(AT), Some(""), BODY),
            (Some(AT), Some("v0="), BODY),
            (Some(AT), Some("v0=a2"), BODY),
            (Some(AT), Some(&SIGNED[3..]), BODY),
            (Some(AT), Some(upper.as_str()), BODY),
            (Some(AT), Some(SIGNED), "token=other"),
        ] {
            assert!(!check(timestamp, signature, body, sent_at), "{timestamp:?} {signature:?}");
        }
    }

    #[test]
    fn what_is_neither_an_event_nor_an_interaction_is_refused() {
        let read_as = |kind: &'static str, body: &str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, http::HeaderValue::from_static(kind))]);
            read(&headers, body.as_bytes())
        };
        for body in ["", "payload", "payload=%7B", "other=%7B%7D"] {
            assert!(read_as("application/x-www-form-urlencoded", body).is_err(), "{body}");
        }
        assert!(read_as("application/json", "1").is_err());
        assert!(read_as("application/json", r#"{"type":"event_callback"}"#).is_ok());
    }
}
