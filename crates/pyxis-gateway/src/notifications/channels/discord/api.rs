//! Calls of the REST API, as <https://docs.discord.com/developers/reference> describes them.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_core::clock::UnixMillis;
use pyxis_core::secret::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use super::Bot;
use crate::notifications::channels::platform::{Delivery, DeliveryError};
use crate::notifications::channels::web_call::{WebResponse, excerpt, exchange, wait_asked};

/// Version of the API.
const API: &str = "api/v10";
/// Wait after a rate limit of unknown length.
const LIMITED: Duration = Duration::from_secs(30);
/// Longest wait that is accepted.
const LONGEST: Duration = Duration::from_hours(1);

#[derive(Deserialize)]
pub(super) struct Channel {
    pub(super) id: String,
    #[serde(rename = "type", default)]
    pub(super) kind: u8,
}

/// A message that was posted.
#[derive(Deserialize)]
pub(super) struct DiscordMessage {
    pub(super) id: String,
}

/// The application of the bot.
#[derive(Deserialize)]
pub(super) struct Application {
    pub(super) id: String,
    #[serde(default)]
    pub(super) verify_key: String,
    pub(super) interactions_endpoint_url: Option<String>,
}

/// Body of an error response.
#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: u32,
    #[serde(default)]
    message: String,
    /// Seconds.
    retry_after: Option<f64>,
}

impl Bot {
    /// Calls the API as the bot.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Delivery<T> {
        let authorization = authorization(&self.config.bot_token)?;
        self.send(net_private, Some(authorization), (method, path), body).await
    }

    /// Changes the response to an interaction. Its token is in the path, and the bot token is not sent.
    pub(super) async fn change_response(
        &self,
        net_private: &pyxis_net::Client,
        token: &SecretString,
        body: &Value,
    ) -> Delivery<()> {
        let token = Zeroizing::new(segment(token.expose()));
        let application = &self.config.application_id;
        let path = Zeroizing::new(format!("webhooks/{application}/{}/messages/@original", token.as_str()));
        self.send::<Value>(net_private, None, (Method::PATCH, path.as_str()), Some(body)).await.map(drop)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        authorization: Option<HeaderValue>,
        (method, path): (Method, &str),
        body: Option<&Value>,
    ) -> Delivery<T> {
        let uri: Uri = format!("{}/{API}/{path}", self.config.api_base)
            .parse()
            .map_err(|_| DeliveryError::Failed("PX_DISCORD_API_BASE is not a URL".to_owned()))?;
        let bytes = body.map_or_else(pyxis_net::body::empty, |body| pyxis_net::body::full(body.to_string()));
        let mut request = Request::new(bytes);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.extend(self.user_agent().map(|value| (USER_AGENT, value)));
        headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let answer = exchange(net_private, request).await?;
        if !answer.status.is_success() {
            return Err(refusal(&answer));
        }
        let status = answer.status.as_u16();
        let foreign = |_| DeliveryError::Failed(format!("the response ({status}) is not from Discord's API"));
        serde_json::from_slice(&answer.body).map_err(foreign)
    }

    /// Discord refuses clients that do not name themselves in this form.
    fn user_agent(&self) -> Option<HeaderValue> {
        let version = env!("CARGO_PKG_VERSION");
        HeaderValue::try_from(format!("DiscordBot ({}, {version})", self.base_url)).ok()
    }
}

/// Text as one segment of a path.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn authorization(token: &SecretString) -> Delivery<HeaderValue> {
    let text = Zeroizing::new(format!("Bot {}", token.expose().as_str()));
    let mut value = HeaderValue::try_from(text.as_str()).map_err(|_| {
        DeliveryError::Failed("the token has characters that a header cannot carry".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Classifies an error response. Most errors do not go away by waiting.
fn refusal(answer: &WebResponse) -> DeliveryError {
    let error: ErrorBody = serde_json::from_slice(&answer.body).unwrap_or_default();
    let (status, code) = (answer.status.as_u16(), error.code);
    let message = excerpt(&error.message);
    match (answer.status, code) {
        (StatusCode::TOO_MANY_REQUESTS, _) => DeliveryError::Later(wait(answer, error.retry_after)),
        // The operator can correct this; pending messages are then posted.
        (StatusCode::UNAUTHORIZED, _) => DeliveryError::Failed(
            "Discord rejected the token: set PX_DISCORD_BOT_TOKEN to the bot's token".to_owned(),
        ),
        (_, 10003) => DeliveryError::Refused(
            "there is no such channel, or it was deleted: name another channel (10003)".to_owned(),
        ),
        (_, 50001) => DeliveryError::Refused(
            "the bot cannot see the channel: give it View Channel there, or name another channel (50001)".to_owned(),
        ),
        (_, 50013) => DeliveryError::Refused(
            "the bot may not write in the channel: give it Send Messages and Embed Links there (50013)"
                .to_owned(),
        ),
        (_, 50007) => DeliveryError::Refused(
            "this person accepts no direct messages from the bot: allow them on a server that both are in (50007)"
                .to_owned(),
        ),
        (found, _) if found.is_server_error() || found == StatusCode::REQUEST_TIMEOUT => {
            DeliveryError::Failed(format!("Discord has a problem ({status})"))
        }
        _ => DeliveryError::Refused(format!("Discord refuses: {message} ({status}, {code})")),
    }
}

/// Wait that Discord asks for: in the body, with fractions of a second, or else in a header.
fn wait(answer: &WebResponse, seconds: Option<f64>) -> Duration {
    let asked = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // The header has no date.
    asked.unwrap_or_else(|| wait_asked(&answer.headers, UnixMillis(0), LIMITED)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::RETRY_AFTER;
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &Value) -> DeliveryError {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("7"))]);
        let status = StatusCode::from_u16(status).unwrap();
        refusal(&WebResponse { status, headers, body: body.to_string().into() })
    }

    #[test]
    fn a_limit_is_as_long_as_the_body_says_else_the_header() {
        for (after, millis) in [
            (json!(1.25), 1250),
            (json!(0), 0),
            (json!(1e9), 3_600_000),
            (json!(-1), 7000),
            (json!(null), 7000),
        ] {
            let found = answer(429, &json!({ "message": "limited", "retry_after": after, "global": false }));
            assert_eq!(found, DeliveryError::Later(Duration::from_millis(millis)), "{after}");
        }
        assert_eq!(answer(429, &json!("error code: 1015")), DeliveryError::Later(Duration::from_secs(7)));
    }

    #[test]
    fn errors_that_pass_are_tried_again_and_others_are_not() {
        for (status, code) in [(401, 0), (500, 0), (502, 0)] {
            let found = answer(status, &json!({ "code": code, "message": "x" }));
            assert!(matches!(found, DeliveryError::Failed(_)), "{status} {code}");
        }
        for (status, code) in
            [(404, 10003), (403, 50001), (403, 50007), (403, 50013), (404, 10008), (400, 50035)]
        {
            let found = answer(status, &json!({ "code": code, "message": "x" }));
            assert!(found.to_string().contains(&code.to_string()), "{found}");
            assert!(matches!(found, DeliveryError::Refused(_)), "{status} {code}");
        }
    }
}
