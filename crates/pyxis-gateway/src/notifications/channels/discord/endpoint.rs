//! Interactions that Discord posts
//! (<https://docs.discord.com/developers/interactions/receiving-and-responding>).
//!
//! Discord waits three seconds for the response. Slower work continues, and its result replaces the response.

use axum::Json;
use axum::body::Body;
use axum::extract::State as Extract;
use http::HeaderMap;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::secret::SecretString;
use pyxis_http::openapi::responses::{Internal, NotFound, SignInNeeded, Unavailable};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value, json};

use super::actions::{FAILED, InteractionResponse, NO_WINDOW, answer};
use super::interaction::{Interaction, PING};
use super::{Bot, content};
use crate::error::{Error, Result};
use crate::notifications::channels::inbound::{Work, header, is_recent, read_body, read_json};
use crate::problems::{PostTooLarge, PostTooSlow};
use crate::runtime::state::State;

const TIMESTAMP: &str = "x-signature-timestamp";
const SIGNATURE: &str = "x-signature-ed25519";
/// Size of an Ed25519 signature.
const SIGNATURE_BYTES: usize = 64;

/// Kinds of responses.
const PONG: u8 = 1;
const MESSAGE: u8 = 4;
const MESSAGE_LATER: u8 = 5;
const WINDOW: u8 = 9;

/// Receive an interaction of the Discord application.
///
/// Served only if Discord is connected. The response is what the person sees.
#[utoipa::path(
    post,
    path = "/discord/interactions",
    tag = "Approvals",
    operation_id = "takeDiscordInteraction",
    params(
        ("X-Signature-Timestamp" = String, Header, description = "Time of the request, in seconds since 1970."),
        ("X-Signature-Ed25519" = String, Header, description = "Ed25519 signature of the time and the body."),
    ),
    request_body = Interaction,
    responses(
        (status = 200, description = "Response to the interaction."),
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
) -> Result<Json<Value>> {
    let bot = Bot::from_settings(&state.config).ok_or(Error::not_found("webhook"))?;
    let signed = Signed::read(&headers, state.now()).ok_or(Error::Unauthenticated)?;
    let body = read_body(body).await?;
    if !signed.covers(&bot.config.public_key, &body) {
        return Err(Error::Unauthenticated);
    }
    let interaction: Interaction = read_json(&body)?;
    if interaction.application_id != bot.config.application_id {
        return Err(Error::Unauthenticated);
    }
    if interaction.kind == PING {
        return Ok(Json(json!({ "type": PONG })));
    }
    let token = interaction.token.clone();
    let doing = state.clone();
    let mut work = Work::start(ChatPlatform::DISCORD, async move { answer(&doing, &interaction).await });
    if let Some(answered) = work.promptly().await {
        return Ok(Json(response(answered_or_failed(answered))));
    }
    tokio::spawn(respond_later(state.net_private.clone(), bot, token, work));
    Ok(Json(json!({ "type": MESSAGE_LATER, "data": content::private_later() })))
}

/// The answer, or a text that reports the failure, because Discord does not retry.
fn answered_or_failed(answered: Result<InteractionResponse>) -> InteractionResponse {
    answered.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot handle a Discord interaction");
        InteractionResponse::Text(FAILED.to_owned())
    })
}

fn response(answer: InteractionResponse) -> Value {
    match answer {
        InteractionResponse::Text(text) => json!({ "type": MESSAGE, "data": content::private(&text) }),
        InteractionResponse::Window(window) => json!({ "type": WINDOW, "data": window }),
    }
}

/// Replaces the response once there is an answer. The action is already recorded, so a failure is not retried.
async fn respond_later(
    net_private: pyxis_net::Client,
    bot: Bot,
    token: SecretString,
    work: Work<InteractionResponse>,
) {
    let text = match answered_or_failed(work.finished().await) {
        InteractionResponse::Text(text) => text,
        // Only the first response can open a window.
        InteractionResponse::Window(_) => NO_WINDOW.to_owned(),
    };
    let changed = bot.change_response(&net_private, &token, &content::private(&text)).await;
    if let Err(error) = changed {
        tracing::debug!(%error, "cannot update the response to a Discord interaction");
    }
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
        let signature = header(headers, SIGNATURE).and_then(hex::decode)?;
        (signature.len() == SIGNATURE_BYTES).then_some(Self { timestamp, signature })
    }

    /// True if Discord signed this body at that time.
    fn covers(&self, public_key: &[u8; 32], body: &[u8]) -> bool {
        let signed = [self.timestamp.as_bytes(), body].concat();
        UnparsedPublicKey::new(&ED25519, public_key).verify(&signed, &self.signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    const AT: &str = "1767225600";
    const BODY: &str = r#"{"type":1}"#;

    #[test]
    fn only_a_right_and_recent_signature_counts() {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let key: [u8; 32] = pair.public_key().as_ref().try_into().unwrap();
        let right = hex::encode(pair.sign(format!("{AT}{BODY}").as_bytes()).as_ref());
        let check =
            |key: &[u8; 32], timestamp: Option<&str>, signature: Option<&str>, body: &str, now_secs: i64| {
                let mut headers = HeaderMap::new();
                for (name, value) in [(TIMESTAMP, timestamp), (SIGNATURE, signature)] {
                    headers.extend(
                        value.map(|value| (http::HeaderName::from_static(name), value.parse().unwrap())),
                    );
                }
                let signed = Signed::read(&headers, UnixMillis(now_secs * 1000));
                signed.is_some_and(|signed| signed.covers(key, body.as_bytes()))
            };
        let sent_at = 1_767_225_600;
        for now in [sent_at, sent_at + 300, sent_at - 300] {
            assert!(check(&key, Some(AT), Some(&right), BODY, now), "{now}");
        }
        for now in [sent_at + 301, sent_at - 301, 0] {
            assert!(!check(&key, Some(AT), Some(&right), BODY, now), "{now}");
        }
        let bare = hex::encode(pair.sign(BODY.as_bytes()).as_ref());
        for (timestamp, signature, body) in [
            (None, Some(&*right), BODY),
            (Some(AT), None, BODY),
            (Some("1767225601"), Some(&*right), BODY),
            (Some(AT), Some(""), BODY),
            (Some(AT), Some("zz"), BODY),
            (Some(AT), Some(&right[..126]), BODY),
            (Some(AT), Some(&*bare), BODY),
            (Some(AT), Some(&*right), r#"{"type":2}"#),
        ] {
            assert!(!check(&key, timestamp, signature, body, sent_at), "{timestamp:?} {signature:?}");
        }
        for other in [[0; 32], [255; 32], [7; 32]] {
            assert!(!check(&other, Some(AT), Some(&right), BODY, sent_at), "{other:?}");
        }
    }
}
