//! Methods of the Web API.

use std::net::SocketAddr;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::{
    APP_TOKEN, ARCHIVED_CHANNEL, BOT_TOKEN, CHANNEL, OTHER_CHANNEL, OpenWindow, SlackCall, SlackMessage,
    SlackState, TEAM, blocks, refusal,
};

/// Life of a trigger.
const TRIGGER: Duration = Duration::from_secs(3);

/// One request.
pub(super) struct SlackRequest {
    method: String,
    token: String,
    is_json: bool,
    arguments: Value,
}

impl SlackRequest {
    /// Reads arguments from JSON or a form. Members of a form that are objects or lists are JSON.
    pub(super) fn read(head: &request::Parts, body: &[u8]) -> Self {
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_json = header(CONTENT_TYPE).starts_with("application/json");
        let arguments = if is_json {
            serde_json::from_slice(body).unwrap_or_default()
        } else {
            let text = |value: &str| match serde_json::from_str(value) {
                Ok(value @ (Value::Object(_) | Value::Array(_) | Value::Bool(_))) => value,
                _ => Value::from(value),
            };
            let pairs = form_urlencoded::parse(body);
            Value::from(pairs.map(|(name, value)| (name.into_owned(), text(&value))).collect::<Map<_, _>>())
        };
        let token = header(AUTHORIZATION).strip_prefix("Bearer ").map(str::to_owned);
        let token = token.or_else(|| arguments["token"].as_str().map(str::to_owned)).unwrap_or_default();
        let method = head.uri.path().strip_prefix("/api/").unwrap_or_default().to_owned();
        Self { method, token, is_json, arguments }
    }
}

/// One response.
pub(super) struct MethodResponse {
    pub(super) status: u16,
    pub(super) retry_after: Option<u64>,
    pub(super) body: Value,
}

impl SlackState {
    pub(super) fn answer(&mut self, request: &SlackRequest, sockets: SocketAddr) -> MethodResponse {
        let (method, arguments) = (request.method.as_str(), &request.arguments);
        self.calls.push(SlackCall { method: method.to_owned(), body: arguments.clone() });
        if self.down {
            return MethodResponse { status: 503, retry_after: None, body: refusal("service_unavailable") };
        }
        if matches!(method, "chat.postMessage" | "chat.update")
            && let Some(seconds) = self.limited.pop_front()
        {
            return MethodResponse { status: 429, retry_after: Some(seconds), body: refusal("ratelimited") };
        }
        let body = self.call(request, sockets).unwrap_or_else(refusal);
        MethodResponse { status: 200, retry_after: None, body }
    }

    fn call(&mut self, request: &SlackRequest, sockets: SocketAddr) -> Result<Value, &'static str> {
        let arguments = &request.arguments;
        let is_app = request.method == "apps.connections.open";
        match request.token.as_str() {
            "" => return Err("not_authed"),
            BOT_TOKEN if !is_app => {}
            APP_TOKEN if is_app => {}
            BOT_TOKEN | APP_TOKEN => return Err("not_allowed_token_type"),
            _ => return Err("invalid_auth"),
        }
        match request.method.as_str() {
            "auth.test" => Ok(json!({
                "ok": true, "url": "https://example.slack.com/", "team": "Example", "user": "pyxis",
                "team_id": TEAM, "user_id": "U0BOT", "bot_id": "B0BOT", "is_enterprise_install": false,
            })),
            "apps.connections.open" => {
                let ticket = format!("ticket-{}", self.next_id());
                self.tickets.push(ticket.clone());
                Ok(json!({ "ok": true, "url": format!("ws://{sockets}/link/?ticket={ticket}&app_id=A0APP") }))
            }
            // Methods that read take no JSON.
            "conversations.info" if request.is_json => Err("invalid_arguments"),
            "conversations.info" => self.info(&text(arguments, "channel")),
            "chat.postMessage" => self.post(arguments),
            "chat.update" => self.update(arguments),
            "chat.postEphemeral" => self.post_ephemeral(arguments),
            "views.open" => self.open_view(arguments),
            _ => Err("unknown_method"),
        }
    }

    pub(super) fn next_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    fn post(&mut self, arguments: &Value) -> Result<Value, &'static str> {
        let channel = self.postable(&text(arguments, "channel"))?;
        let shown = blocks::content(arguments)?;
        let ts = format!("1700000000.{:06}", self.next_id());
        let message = SlackMessage {
            channel: channel.clone(),
            ts: ts.clone(),
            notice: blocks::unescaped(&text(arguments, "text")),
            text: shown.text,
            buttons: shown.buttons,
            edits: 0,
        };
        self.messages.insert((channel.clone(), ts.clone()), message);
        Ok(json!({
            "ok": true, "channel": channel, "ts": ts,
            "message": { "type": "message", "ts": ts, "bot_id": "B0BOT", "text": arguments["text"] },
        }))
    }

    fn update(&mut self, arguments: &Value) -> Result<Value, &'static str> {
        let (channel, ts) = (text(arguments, "channel"), text(arguments, "ts"));
        // Unlike a post, an edit takes no person for the channel with that person.
        if channel.starts_with('U') {
            return Err("channel_not_found");
        }
        let shown = blocks::content(arguments)?;
        let message = self.messages.get_mut(&(channel.clone(), ts.clone())).ok_or("message_not_found")?;
        message.notice = blocks::unescaped(&text(arguments, "text"));
        (message.text, message.buttons) = (shown.text, shown.buttons);
        message.edits += 1;
        Ok(json!({ "ok": true, "channel": channel, "ts": ts, "text": arguments["text"] }))
    }

    fn post_ephemeral(&mut self, arguments: &Value) -> Result<Value, &'static str> {
        let (channel, user) = (self.postable(&text(arguments, "channel"))?, text(arguments, "user"));
        if !user.starts_with('U') {
            return Err("user_not_in_channel");
        }
        let said = blocks::unescaped(&text(arguments, "text"));
        if said.is_empty() {
            return Err("no_text");
        }
        self.ephemeral.push((channel, user, said));
        Ok(json!({ "ok": true, "message_ts": format!("1700000000.{:06}", self.next_id()) }))
    }

    fn open_view(&mut self, arguments: &Value) -> Result<Value, &'static str> {
        let trigger = self.triggers.remove(&text(arguments, "trigger_id")).ok_or("exchanged_trigger_id")?;
        let (user, pressed_at) = trigger;
        if pressed_at.elapsed() > TRIGGER || self.is_expiring_triggers {
            return Err("expired_trigger_id");
        }
        blocks::check_view(&arguments["view"])?;
        let mut view = arguments["view"].clone();
        view["id"] = format!("V{}", self.next_id()).into();
        self.windows.push(OpenWindow { user, view: view.clone() });
        Ok(json!({ "ok": true, "view": view }))
    }

    /// The id of a channel to which the bot may post. A person stands for the channel with that person.
    fn postable(&self, channel: &str) -> Result<String, &'static str> {
        match channel {
            CHANNEL if self.is_put_out => Err("not_in_channel"),
            CHANNEL => Ok(channel.to_owned()),
            OTHER_CHANNEL => Err("not_in_channel"),
            ARCHIVED_CHANNEL => Err("is_archived"),
            _ if channel.starts_with('D') => Ok(channel.to_owned()),
            _ => channel.strip_prefix('U').map(|person| format!("D{person}")).ok_or("channel_not_found"),
        }
    }

    fn info(&self, channel: &str) -> Result<Value, &'static str> {
        let (is_member, is_archived) = match channel {
            CHANNEL => (!self.is_put_out, false),
            OTHER_CHANNEL => (false, false),
            ARCHIVED_CHANNEL => (false, true),
            _ => return Err("channel_not_found"),
        };
        Ok(json!({ "ok": true, "channel": {
            "id": channel, "name": "ops", "is_channel": true, "is_private": false,
            "is_member": is_member, "is_archived": is_archived,
        } }))
    }
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}
