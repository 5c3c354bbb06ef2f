//! Signed requests of Slack (<https://docs.slack.dev/authentication/verifying-requests-from-slack/>).

use axum::Json;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use hmac::{Hmac, KeyInit, Mac};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;
use pyxis_http::openapi::responses::{Internal, NotFound, SignInNeeded, Unavailable};
use serde_json::json;
use sha2::Sha256;
use url::form_urlencoded;
use utoipa::ToSchema;

use super::reports::{EventRequest, Report};
use super::{Bot, actions};
use crate::error::{Error, Result};
use crate::notifications::channels::inbound::{Work, header, is_recent, read_body, read_json};
use crate::problems::{PostTooLarge, PostTooSlow};
use crate::runtime::state::State;

const TIMESTAMP: &str = "x-slack-request-timestamp";
const SIGNATURE: &str = "x-slack-signature";
/// Size of an HMAC-SHA256.
const SIGNATURE_BYTES: usize = 32;

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
        (status = 408, response = PostTooSlow),
        (status = 413, response = PostTooLarge),
        (status = 500, response = Internal),
        (status = 503, response = Unavailable),
    ),
)]
pub(crate) async fn receive(
    Extract(state): Extract<State>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let bot = Bot::from_settings(&state.config).ok_or(Error::not_found("webhook"))?;
    let secret = bot.config.signing_secret.as_ref().ok_or(Error::not_found("webhook"))?;
    let signed = Signed::read(&headers, state.now()).ok_or(Error::Unauthenticated)?;
    let body = read_body(body).await?;
    if !signed.covers(secret, &body) {
        return Err(Error::Unauthenticated);
    }
    let update = read(&headers, &body)?;
    if let Report::Event(event) = &update
        && event.kind == "url_verification"
    {
        return Ok(Json(json!({ "challenge": event.challenge })).into_response());
    }
    let mut work =
        Work::start(ChatPlatform::SLACK, async move { actions::handle(&state, &bot, update).await });
    if let Some(handled) = work.promptly().await {
        handled?;
    }
    Ok(StatusCode::OK.into_response())
}

/// An interaction is a form with one field, an event is JSON.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Report> {
    let kind = header(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    if kind.starts_with("application/x-www-form-urlencoded") {
        let form = InteractionForm::read(body)?;
        return read_json(form.payload.as_bytes()).map(Report::Interaction);
    }
    read_json(body).map(Report::Event)
}

/// Time and signature of a request, as its headers have them.
struct Signed<'a> {
    timestamp: &'a str,
    signature: Vec<u8>,
}

impl<'a> Signed<'a> {
    /// Well-formed headers with a time within the last minutes.
    fn read(headers: &'a HeaderMap, now: UnixMillis) -> Option<Self> {
        let timestamp = header(headers, TIMESTAMP).filter(|timestamp| is_recent(timestamp, now))?;
        let signature = header(headers, SIGNATURE)?.strip_prefix("v0=").and_then(hex::decode)?;
        (signature.len() == SIGNATURE_BYTES).then_some(Self { timestamp, signature })
    }

    /// True if Slack signed this body at that time. Compares in constant time.
    fn covers(&self, secret: &SecretString, body: &[u8]) -> bool {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()) else { return false };
        for part in [b"v0:", self.timestamp.as_bytes(), b":", body] {
            mac.update(part);
        }
        mac.verify_slice(&self.signature).is_ok()
    }
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
        let signed = Signed::read(&headers, UnixMillis(now_secs * 1000));
        signed.is_some_and(|signed| signed.covers(&secret, body.as_bytes()))
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
