//! `teams`: Adaptive Cards in a channel of Microsoft Teams, through the webhook of a workflow.
//!
//! Anyone who knows the webhook's URL can post, so policies name it and the settings hold it. A card has a link to the
//! page, where people decide. It stays as it was posted, since a webhook cannot change a message.

mod settings;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Uri};
use pyxis_core::brand::SECURED_BY;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::Clock;
use pyxis_store::chat_messages::ChatMessageRow;
use serde_json::{Value, json};

use super::link_card::{LinkCard, escaped_to};
use super::platform::{ChatBot, Delivery, PlatformDescriptor, PlatformPage, no_routes};
use super::web_call::{exchange, posted};
use crate::config::Config;
use crate::runtime::chat_health::ChatHealth;
use crate::runtime::state::State;

pub use settings::TeamsConfig;

pub(super) const DESCRIPTOR: PlatformDescriptor = PlatformDescriptor {
    platform: ChatPlatform::TEAMS,
    settings: settings::KEYS,
    connected_by: &["teams_webhooks"],
    read_settings: settings::read,
    bot: |state| Some(Arc::new(Bot::from_settings(&state.config)?)),
    posts_to: None,
    routes: no_routes,
    page: PlatformPage {
        room_example: "operations",
        without_room: "the server's default channel, or else no messages",
        room_hint: Some("Name of a webhook in the server's settings. It is tried with the first message."),
        link_command: "",
        shows_color: false,
        shows_logo: false,
        brand_hint: "Microsoft Teams shows the name, but no color and no logo.",
    },
};

/// Longest text or value, in bytes. Teams accepts 28 KB for the card.
const TEXT_MAX: usize = 2000;

/// The poster.
struct Bot {
    config: TeamsConfig,
}

impl Bot {
    /// The poster of the settings, if there is one.
    fn from_settings(config: &Config) -> Option<Self> {
        config.chats.get::<TeamsConfig>().cloned().map(|config| Self { config })
    }

    async fn send(
        &self,
        net_private: &pyxis_net::Client,
        clock: &dyn Clock,
        message: &ChatMessageRow,
        body: &Value,
    ) -> Delivery<String> {
        let request = request(self.config.endpoints.uri(&message.chat)?, body);
        let answer = exchange(net_private, request).await?;
        // A webhook returns no id.
        posted(&answer, clock.now()).map(|()| message.id.to_string())
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
        let body = body(card);
        Box::pin(async move { self.send(&state.net_private, &*state.clock, message, &body).await })
    }

    fn sign_in<'a>(&'a self, _state: &'a State) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn examine<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        Box::pin(self.config.endpoints.examine(&state.net_private, room))
    }

    fn admit<'a>(&'a self, state: &'a State, room: &'a str) -> BoxFuture<'a, ChatHealth> {
        self.examine(state, room)
    }
}

fn request(uri: Uri, body: &Value) -> Request<pyxis_net::Body> {
    let mut request = Request::new(pyxis_net::body::full(body.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request
}

/// The message of one card.
fn body(card: &LinkCard) -> Value {
    let text = |text: &str| escaped_to(text, TEXT_MAX, escape);
    let fact = |(name, value): &(&str, String)| json!({ "title": name, "value": text(value) });
    let mut parts = vec![
        json!({ "type": "TextBlock", "text": text(&card.title), "weight": "Bolder", "size": "Medium", "wrap": true }),
        json!({ "type": "TextBlock", "text": text(&card.text), "wrap": true }),
    ];
    if !card.facts.is_empty() {
        parts.push(json!({ "type": "FactSet", "facts": card.facts.iter().map(fact).collect::<Vec<_>>() }));
    }
    let status =
        card.status.iter().map(|line| json!({ "type": "TextBlock", "text": text(line), "wrap": true }));
    parts.extend(status);
    parts.push(json!({
        "type": "TextBlock", "text": SECURED_BY, "isSubtle": true, "size": "Small", "wrap": true,
    }));
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": parts,
                "actions": [{ "type": "Action.OpenUrl", "title": card.link, "url": card.url }],
                "msteams": { "width": "Full" },
            },
        }],
    })
}

/// A character of plain text in the Markdown of a card. Texts are Markdown there: a link, emphasis, and functions in
/// double braces would be rendered.
fn escape(c: char, out: &mut String) {
    match c {
        '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '{' | '}' | '<' | '>' | '&' | '~' | '|' | '#'
        | '!' | '$' => {
            out.push('\\');
            out.push(c);
        }
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_no_markdown_and_no_function_of_cards() {
        let text = |text: &str| escaped_to(text, TEXT_MAX, escape);
        assert_eq!(text("[Approve](https://evil.example)"), r"\[Approve\]\(https://evil.example\)");
        assert_eq!(
            text("**a** _b_ {{DATE(x)}} ${y} <b>&lt;"),
            r"\*\*a\*\* \_b\_ \{\{DATE\(x\)\}\} \$\{y\} \<b\>\&lt;"
        );
        assert_eq!(text("api.example.com:8443"), "api.example.com:8443");
    }
}
