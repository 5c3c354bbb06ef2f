//! Calls of the Web API, as <https://docs.slack.dev/apis/web-api/> describes them.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use pyxis_core::secret::SecretString;
use pyxis_net::body::read_capped;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::Bot;
use crate::notifications::channels::platform::{Delivery, DeliveryError};

/// Longest time for a call.
const CALL: Duration = Duration::from_secs(15);
/// Largest response, in bytes.
const MAX_RESPONSE: usize = 4 * 1024 * 1024;
/// The wait where Slack limits the bot and does not say for how long.
const LIMITED: Duration = Duration::from_secs(30);

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// The members that every response has.
#[derive(Deserialize)]
struct ResponseStatus {
    ok: bool,
    #[serde(default)]
    error: String,
    /// Missing scope.
    #[serde(default)]
    needed: String,
}

/// A message that was posted.
#[derive(Deserialize)]
pub(super) struct PostedMessage {
    /// Channel id, also if a person's id was named.
    pub(super) channel: String,
    pub(super) ts: String,
}

#[derive(Deserialize)]
pub(super) struct ConversationInfo {
    pub(super) channel: Conversation,
}

/// A channel.
#[derive(Deserialize)]
pub(super) struct Conversation {
    #[serde(default)]
    pub(super) is_archived: bool,
    #[serde(default)]
    pub(super) is_member: bool,
}

/// Address of a WebSocket.
#[derive(Deserialize)]
pub(super) struct SocketAddress {
    pub(super) url: String,
}

impl Bot {
    /// Calls a method of the bot that changes something.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        method: &str,
        body: &Value,
    ) -> Delivery<T> {
        self.send(net_private, &self.config.bot_token, method, (JSON, body.to_string())).await
    }

    /// Calls a method of the bot that reads. These take no JSON.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        method: &str,
        arguments: &[(&str, &str)],
    ) -> Delivery<T> {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(arguments).finish();
        self.send(net_private, &self.config.bot_token, method, (FORM, form)).await
    }

    /// Asks for the address of a WebSocket.
    pub(super) async fn open_socket(
        &self,
        net_private: &pyxis_net::Client,
        app_token: &SecretString,
    ) -> Delivery<SocketAddress> {
        self.send(net_private, app_token, "apps.connections.open", (FORM, String::new())).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        token: &SecretString,
        method: &str,
        (kind, body): (HeaderValue, String),
    ) -> Delivery<T> {
        let mut request = Request::new(pyxis_net::body::full(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri(method)?;
        request.headers_mut().insert(CONTENT_TYPE, kind);
        request.headers_mut().insert(AUTHORIZATION, bearer(token)?);
        let answering = async {
            // The operator's own setting says where this is, so it may be on a private network.
            let response = net_private.send(request, CALL).await?;
            let (head, body) = response.into_parts();
            Ok::<_, pyxis_net::Error>((head, read_capped(body, MAX_RESPONSE).await?))
        };
        match timeout(CALL, answering).await {
            Ok(Ok((head, bytes))) => into_result(head.status, &head.headers, &bytes),
            Ok(Err(error)) => Err(DeliveryError::Failed(error.to_string())),
            Err(_) => Err(DeliveryError::Failed("no response in time".to_owned())),
        }
    }

    fn uri(&self, method: &str) -> Delivery<Uri> {
        let url = format!("{}/api/{method}", self.config.api_base);
        url.parse().map_err(|_| DeliveryError::Failed("PX_SLACK_API_BASE is not a URL".to_owned()))
    }
}

fn bearer(token: &SecretString) -> Delivery<HeaderValue> {
    let text = Zeroizing::new(format!("Bearer {}", token.expose().as_str()));
    let mut value = HeaderValue::try_from(text.as_str()).map_err(|_| {
        DeliveryError::Failed("the token has characters that a header cannot carry".to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn into_result<T: DeserializeOwned>(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Delivery<T> {
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Err(DeliveryError::Later(retry_after(headers)));
    }
    let foreign = || DeliveryError::Failed(format!("the response ({status}) is not from Slack's Web API"));
    let outcome: ResponseStatus = serde_json::from_slice(body).map_err(|_| foreign())?;
    if outcome.ok {
        return serde_json::from_slice(body).map_err(|_| foreign());
    }
    Err(refusal(&outcome, headers))
}

fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seconds.map_or(LIMITED, Duration::from_secs)
}

/// Sorts the errors of Slack. Most will not pass by waiting.
fn refusal(outcome: &ResponseStatus, headers: &HeaderMap) -> DeliveryError {
    let error = outcome.error.as_str();
    match error {
        "ratelimited" | "rate_limited" | "message_limit_exceeded" => {
            DeliveryError::Later(retry_after(headers))
        }
        "internal_error"
        | "fatal_error"
        | "request_timeout"
        | "service_unavailable"
        | "team_added_to_org" => DeliveryError::Failed(format!("Slack has a problem ({error})")),
        // The operator can change these, and what waits is then posted.
        "invalid_auth"
        | "not_authed"
        | "account_inactive"
        | "token_revoked"
        | "token_expired"
        | "not_allowed_token_type"
        | "org_login_required" => DeliveryError::Failed(format!("Slack does not accept the token ({error})")),
        "missing_scope" => DeliveryError::Failed(format!(
            "the Slack app lacks the scope {}: add it, and install the app again",
            outcome.needed
        )),
        "not_in_channel" | "channel_not_found" => DeliveryError::Refused(format!(
            "the bot is not in the channel: invite it there, or name another channel ({error})"
        )),
        "is_archived" => DeliveryError::Refused("the channel is archived".to_owned()),
        _ => DeliveryError::Refused(format!("Slack refuses: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &Value) -> Delivery<PostedMessage> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        into_result(StatusCode::from_u16(status).unwrap(), &headers, body.to_string().as_bytes())
    }

    #[test]
    fn errors_that_pass_are_tried_again_and_others_are_not() {
        let of = |error: &str| answer(200, &json!({ "ok": false, "error": error })).map(drop).unwrap_err();
        assert_eq!(of("ratelimited"), DeliveryError::Later(Duration::from_secs(7)));
        for error in ["internal_error", "invalid_auth", "missing_scope"] {
            assert!(matches!(of(error), DeliveryError::Failed(_)), "{error}");
        }
        for error in ["not_in_channel", "is_archived", "msg_blocks_too_long", "invented_tomorrow"] {
            assert!(matches!(of(error), DeliveryError::Refused(_)), "{error}");
        }
        assert_eq!(answer(429, &json!("")).map(drop), Err(DeliveryError::Later(Duration::from_secs(7))));
        assert!(matches!(answer(502, &json!("")), Err(DeliveryError::Failed(_))));
        assert!(matches!(answer(200, &json!({ "ok": true })), Err(DeliveryError::Failed(_))));
    }
}
