//! `ntfy`: messages in a topic, which phones and browsers subscribe to.
//!
//! Everyone who may read the topic sees its messages. A message has a link to the page, where people decide. It stays
//! as it was posted.

mod settings;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use pyxis_core::brand::SECURED_BY;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_store::chat_messages::ChatMessageRow;
use serde::Deserialize;
use serde_json::{Value, json};

use super::link_card::{LinkCard, escaped_to};
use super::platform::{ChatBot, Delivery, DeliveryError, PlatformDescriptor, PlatformPage, no_routes};
use super::web_call::{WebResponse, excerpt, exchange, wait_asked};
use crate::config::Config;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

pub use settings::NtfyConfig;

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::NTFY,
    settings: settings::KEYS,
    connected_by: &["ntfy_topic"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: None,
    routes: no_routes,
    page: PlatformPage {
        room_example: "approvals-9f2c41",
        without_room: "the server's default topic",
        room_hint: Some(
            "Everyone who may read the topic sees who asks for what. Requests are decided on their page.",
        ),
        link_command: "",
        shows_color: false,
        shows_logo: false,
        brand_hint: "ntfy shows the name, but no color and no logo.",
    },
};

/// Largest title, in bytes.
const TITLE_MAX: usize = 240;
/// Largest message, in bytes. Servers make an attachment of one that is larger than 4096.
const MESSAGE_MAX: usize = 3000;
/// The wait where the server limits and does not say for how long. Public servers admit a request every 5 seconds.
const LIMITED: Duration = Duration::from_secs(10);
/// The wait where the day's messages are used up.
const USED_UP: Duration = Duration::from_mins(5);
/// The server's code for that.
const DAILY_MESSAGES: u32 = 42908;
/// The problem with a token.
const REFUSED_TOKEN: &str = "the server refuses the token: set PX_NTFY_TOKEN to a valid access token";

/// The publisher.
struct Bot {
    config: NtfyConfig,
}

/// A response to a message.
#[derive(Deserialize)]
struct Published {
    id: String,
}

#[derive(Deserialize)]
struct Health {
    healthy: bool,
}

#[derive(Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    code: u32,
    #[serde(default)]
    error: String,
}

impl Bot {
    /// The publisher of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        config.chats.get::<NtfyConfig>().cloned().map(|config| Self { config })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Delivery<Request<pyxis_net::Body>> {
        let uri: Uri = format!("{}/{path}", self.config.server)
            .parse()
            .map_err(|_| DeliveryError::Refused("this topic makes no address".to_owned()))?;
        let body = body.map_or_else(pyxis_net::body::empty, |body| pyxis_net::body::full(body.to_string()));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.config.token {
            let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
            let mut bearer = bearer.map_err(|_| DeliveryError::Failed(REFUSED_TOKEN.to_owned()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(request)
    }

    async fn get(&self, net_private: &pyxis_net::Client, path: &str) -> Delivery<WebResponse> {
        exchange(net_private, self.request(Method::GET, path, None)?).await
    }

    async fn publish(
        &self,
        net_private: &pyxis_net::Client,
        clock: &dyn Clock,
        message: &Value,
    ) -> Delivery<String> {
        let answer = exchange(net_private, self.request(Method::POST, "", Some(message))?).await?;
        if !answer.status.is_success() {
            return Err(parse_error(&answer, clock.now()));
        }
        let odd = |_| DeliveryError::Failed("the response is not from an ntfy server".to_owned());
        serde_json::from_slice(&answer.body).map(|published: Published| published.id).map_err(odd)
    }

    /// Problem of the server or the token.
    async fn problem(&self, net_private: &pyxis_net::Client) -> Delivery<Option<String>> {
        let health = self.get(net_private, "v1/health").await?;
        let healthy = serde_json::from_slice(&health.body).is_ok_and(|health: Health| health.healthy);
        if health.status == StatusCode::UNAUTHORIZED {
            return Ok(Some(REFUSED_TOKEN.to_owned()));
        }
        if !health.status.is_success() || !healthy {
            let status = health.status.as_u16();
            let server = &self.config.server;
            return Ok(Some(format!(
                "{server}/v1/health responded with {status}, not as a healthy ntfy server: check PX_NTFY_URL"
            )));
        }
        if self.config.token.is_none() {
            return Ok(None);
        }
        // The response says whose the token is. Servers without accounts do not have the path.
        let account = self.get(net_private, "v1/account").await?;
        Ok((account.status == StatusCode::UNAUTHORIZED).then(|| REFUSED_TOKEN.to_owned()))
    }
}

impl ChatBot for Bot {
    fn post_link<'a>(
        &'a self,
        state: &'a State,
        message: &'a ChatMessageRow,
        _earlier: Option<&'a str>,
        card: &'a LinkCard,
    ) -> BoxFuture<'a, Delivery<String>> {
        let body = body(&message.chat, card);
        Box::pin(async move { self.publish(&state.net_private, &*state.clock, &body).await })
    }

    fn sign_in<'a>(&'a self, state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            self.problem(&state.net_private).await.unwrap_or_else(|error| Some(error.to_string()))
        })
    }

    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(async move {
            if !settings::is_topic(room) {
                return ChatHealth::Unusable(settings::TOPIC_RULE.to_owned());
            }
            // The response says if the topic can be read. A token that may only write gets 403 here.
            match self.get(&state.net_private, &format!("{room}/auth")).await {
                Ok(answer) if answer.status.is_success() => ChatHealth::Usable,
                Ok(answer) if answer.status == StatusCode::UNAUTHORIZED => {
                    ChatHealth::Unusable(REFUSED_TOKEN.to_owned())
                }
                Ok(_) | Err(_) => ChatHealth::Unknown,
            }
        })
    }

    fn admit<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        self.examine(state, room)
    }
}

/// A message as the server takes it. Its text is plain: nothing in it is markup.
fn body(topic: &str, card: &LinkCard) -> Value {
    let plain = |c: char, out: &mut String| out.push(c);
    json!({
        "topic": topic,
        "title": escaped_to(&card.title, TITLE_MAX, plain),
        "message": escaped_to(&message(card), MESSAGE_MAX, plain),
        "click": card.url,
        "priority": 4,
        "tags": ["closed_lock_with_key"],
        "actions": [{ "action": "view", "label": card.link, "url": card.url }],
    })
}

fn message(card: &LinkCard) -> String {
    let mut lines = vec![card.text.clone()];
    if let (Some(method), Some(host)) = (card.fact("Method"), card.fact("Host")) {
        lines.push(format!("{method} {host}"));
    }
    lines.extend(card.fact("Actions").map(|actions| format!("Actions: {actions}")));
    // The longest part is the agent's, so it comes last: a cut leaves the others whole.
    lines.extend(card.status.iter().cloned());
    lines.push(SECURED_BY.to_owned());
    for name in ["Reason", "Purpose"] {
        lines.extend(card.fact(name).map(|words| format!("{name}: “{words}”")));
    }
    lines.join("\n")
}

fn parse_error(answer: &WebResponse, now: UnixMillis) -> DeliveryError {
    let said: ErrorBody = serde_json::from_slice(&answer.body).unwrap_or_default();
    let status = answer.status.as_u16();
    let reason = format!("{status} {}", excerpt(&said.error));
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS => {
            let usual = if said.code == DAILY_MESSAGES { USED_UP } else { LIMITED };
            DeliveryError::Later(wait_asked(&answer.headers, now, usual))
        }
        // The message is posted once the operator has set another token.
        StatusCode::UNAUTHORIZED => DeliveryError::Failed(REFUSED_TOKEN.to_owned()),
        StatusCode::FORBIDDEN => DeliveryError::Refused(format!(
            "the server refuses messages in this topic: set a PX_NTFY_TOKEN that may write to it ({reason})"
        )),
        StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::PAYLOAD_TOO_LARGE => {
            DeliveryError::Refused(reason)
        }
        _ => DeliveryError::Failed(reason),
    }
}
