//! Calls of the REST API.

use http::header::{AUTHORIZATION, USER_AGENT};
use http::request;
use pyxis_core::hex;
use serde_json::{Value, json};

use super::{
    APPLICATION, BOT_TOKEN, CATEGORY, CHANNEL, CLOSED_PERSON, DiscordCall, DiscordMessage, DiscordState,
    HIDDEN_CHANNEL, SECOND_CHANNEL, content, public_key,
};

/// One request.
pub(super) struct DiscordRequest {
    call: String,
    /// Value of the header, if there is one.
    authorization: Option<String>,
    is_named: bool,
    body: Value,
}

impl DiscordRequest {
    pub(super) fn read(head: &request::Parts, body: &[u8]) -> Self {
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let path = head.uri.path().strip_prefix("/api/v10/").unwrap_or_default();
        Self {
            call: format!("{} {path}", head.method),
            authorization: header(AUTHORIZATION).map(str::to_owned),
            is_named: header(USER_AGENT).is_some_and(|name| name.starts_with("DiscordBot (http")),
            body: serde_json::from_slice(body).unwrap_or_default(),
        }
    }
}

/// One response.
pub(super) struct CallResponse {
    pub(super) status: u16,
    pub(super) body: Value,
}

/// Status and code of a refusal.
struct DiscordError(u16, u32, &'static str);

const UNKNOWN_CHANNEL: DiscordError = DiscordError(404, 10003, "Unknown Channel");
const MISSING_ACCESS: DiscordError = DiscordError(403, 50001, "Missing Access");

impl DiscordState {
    pub(super) fn answer(&mut self, request: &DiscordRequest) -> CallResponse {
        self.calls.push(DiscordCall { call: request.call.clone(), body: request.body.clone() });
        if self.down {
            return CallResponse {
                status: 503,
                body: json!({ "message": "503: Service Unavailable", "code": 0 }),
            };
        }
        let shows = request.call.contains("/messages") && !request.call.contains(" webhooks/");
        if shows && let Some(seconds) = self.limited.pop_front() {
            let body =
                json!({ "message": "You are being rate limited.", "retry_after": seconds, "global": false });
            return CallResponse { status: 429, body };
        }
        match self.call(request) {
            Ok(body) => CallResponse { status: 200, body },
            Err(DiscordError(status, code, message)) => {
                CallResponse { status, body: json!({ "code": code, "message": message }) }
            }
        }
    }

    fn call(&mut self, request: &DiscordRequest) -> Result<Value, DiscordError> {
        let (method, path) = request.call.split_once(' ').unwrap_or_default();
        let parts: Vec<&str> = path.split('/').collect();
        if !request.is_named {
            return Err(DiscordError(403, 40333, "internal network error"));
        }
        // The token in the path is enough, and the bot's is not sent.
        if let ("PATCH", ["webhooks", APPLICATION, token, "messages", "@original"]) = (method, &parts[..]) {
            return self.change_response(token, request);
        }
        if request.authorization.as_deref() != Some(format!("Bot {BOT_TOKEN}").as_str()) {
            return Err(DiscordError(401, 0, "401: Unauthorized"));
        }
        match (method, &parts[..]) {
            ("GET", ["users", "@me"]) => Ok(json!({ "id": APPLICATION, "username": "pyxis", "bot": true })),
            ("GET", ["applications", "@me"]) => Ok(json!({
                "id": APPLICATION, "name": "Pyxis", "verify_key": hex::encode(&public_key()),
                "interactions_endpoint_url": if self.has_no_endpoint { Value::Null } else { json!("https://px.example.com/discord/interactions") },
            })),
            ("POST", ["applications", APPLICATION, "commands"]) => self.register(&request.body),
            ("POST", ["users", "@me", "channels"]) => open_channel(&request.body),
            ("GET", ["channels", id]) => self.channel(id),
            ("POST", ["channels", id, "messages"]) => self.post(id, &request.body),
            ("PATCH", ["channels", id, "messages", message]) => self.edit(id, message, &request.body),
            _ => Err(DiscordError(404, 0, "404: Not Found")),
        }
    }

    pub(super) fn next_id(&mut self) -> String {
        self.next_id += 1;
        format!("15{:017}", self.next_id)
    }

    fn register(&mut self, command: &Value) -> Result<Value, DiscordError> {
        let name = command["name"].as_str().unwrap_or_default();
        let is_name =
            |name: &str| (1..=32).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_option = |option: &Value| {
            option["type"] == 3 && option["name"].as_str().is_some_and(is_name) && is_described(option)
        };
        let options = command["options"].as_array().cloned().unwrap_or_default();
        if !is_name(name) || !is_described(command) || !options.iter().all(is_option) {
            return Err(DiscordError(400, 50035, "Invalid Form Body"));
        }
        self.commands.retain(|known| known["name"] != name);
        let mut stored = command.clone();
        stored["id"] = self.next_id().into();
        self.commands.push(stored.clone());
        Ok(stored)
    }

    fn channel(&self, id: &str) -> Result<Value, DiscordError> {
        let kind = match id {
            CHANNEL if self.is_put_out => return Err(MISSING_ACCESS),
            CHANNEL | SECOND_CHANNEL => 0,
            CATEGORY => 4,
            HIDDEN_CHANNEL => return Err(MISSING_ACCESS),
            _ => return Err(UNKNOWN_CHANNEL),
        };
        Ok(json!({ "id": id, "type": kind, "name": "ops", "guild_id": "1000000000000000001" }))
    }

    fn post(&mut self, channel: &str, body: &Value) -> Result<Value, DiscordError> {
        self.check_writable(channel)?;
        let shown = content::content(body).map_err(invalid)?;
        let once = body["nonce"].as_str().filter(|_| body["enforce_nonce"] == true).map(str::to_owned);
        if once.as_ref().is_some_and(|mark| mark.len() > 25) {
            return Err(invalid(50035));
        }
        if let Some(posted) = once.as_ref().and_then(|mark| self.once.get(mark)) {
            return Ok(posted.clone());
        }
        let id = self.next_id();
        let message = DiscordMessage {
            channel: channel.to_owned(),
            id: id.clone(),
            content: shown.content,
            text: shown.text,
            has_markup: shown.has_markup,
            buttons: shown.buttons,
            edits: 0,
        };
        self.messages.insert((channel.to_owned(), id.clone()), message);
        let posted =
            json!({ "id": id, "channel_id": channel, "content": body["content"], "embeds": body["embeds"] });
        if let Some(mark) = once {
            self.once.insert(mark, posted.clone());
        }
        Ok(posted)
    }

    fn edit(&mut self, channel: &str, id: &str, body: &Value) -> Result<Value, DiscordError> {
        self.check_writable(channel)?;
        let shown = content::content(body).map_err(invalid)?;
        let message = self.messages.get_mut(&(channel.to_owned(), id.to_owned())).ok_or(DiscordError(
            404,
            10008,
            "Unknown Message",
        ))?;
        (message.content, message.text) = (shown.content, shown.text);
        message.has_markup = shown.has_markup;
        // What an edit does not name stays.
        if !body["components"].is_null() {
            message.buttons = shown.buttons;
        }
        message.edits += 1;
        Ok(json!({ "id": id, "channel_id": channel, "content": body["content"] }))
    }

    fn change_response(&mut self, token: &str, request: &DiscordRequest) -> Result<Value, DiscordError> {
        let shown = content::content(&request.body).map_err(invalid)?;
        let answer = self.deferred.get_mut(token).ok_or(DiscordError(404, 10015, "Unknown Webhook"))?;
        *answer = Some(shown.text);
        Ok(json!({ "id": self.next_id(), "flags": 64 }))
    }

    fn check_writable(&self, channel: &str) -> Result<(), DiscordError> {
        match channel {
            CHANNEL if self.is_put_out => Err(MISSING_ACCESS),
            CHANNEL | SECOND_CHANNEL => Ok(()),
            HIDDEN_CHANNEL => Err(MISSING_ACCESS),
            _ if channel == channel_with(CLOSED_PERSON) => {
                Err(DiscordError(403, 50007, "Cannot send messages to this user"))
            }
            _ if channel.starts_with("14") => Ok(()),
            _ => Err(UNKNOWN_CHANNEL),
        }
    }
}

fn invalid(code: u32) -> DiscordError {
    DiscordError(400, code, "Invalid Form Body")
}

fn is_described(part: &Value) -> bool {
    part["description"].as_str().is_some_and(|text| (1..=100).contains(&text.chars().count()))
}

/// Id of the channel with a person.
pub(super) fn channel_with(person: &str) -> String {
    person.replacen("13", "14", 1)
}

fn open_channel(body: &Value) -> Result<Value, DiscordError> {
    let person = body["recipient_id"].as_str().filter(|id| id.starts_with("13"));
    let person = person.ok_or(DiscordError(400, 50033, "Invalid Recipient(s)"))?;
    Ok(json!({ "id": channel_with(person), "type": 1, "recipients": [{ "id": person }] }))
}
