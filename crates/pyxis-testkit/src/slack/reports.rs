//! Actions of people, as Slack reports them.

use tokio::time::Instant;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::form_urlencoded;

use super::{Slack, SlackMessage, SlackState, TEAM};

impl Slack {
    /// Presses a button, reported over a WebSocket. Returns the envelope's id.
    pub fn press(&self, message: &SlackMessage, label: &str, user: &str) -> String {
        let payload = self.press_payload(message, message.button(label), user);
        self.send("interactive", payload)
    }

    /// Presses a button with any value.
    pub fn press_with(&self, message: &SlackMessage, action: &str, value: &str, user: &str) -> String {
        let button = json!({ "type": "button", "action_id": action, "value": value });
        let payload = self.press_payload(message, &button, user);
        self.send("interactive", payload)
    }

    /// Report of a press, not sent.
    pub fn press_payload(&self, message: &SlackMessage, button: &Value, user: &str) -> Value {
        let trigger = self.shared.change(|inner| {
            let trigger = format!("{}.trigger", inner.next_id());
            inner.triggers.insert(trigger.clone(), (user.to_owned(), Instant::now()));
            trigger
        });
        let mut action = button.clone();
        action["block_id"] = "actions".into();
        action["action_ts"] = "1700000001.000000".into();
        json!({
            "type": "block_actions", "api_app_id": "A0APP", "token": "legacy", "trigger_id": trigger,
            "team": { "id": TEAM, "domain": "example" }, "user": person(user), "enterprise": null,
            "channel": { "id": message.channel, "name": "ops" },
            "container": {
                "type": "message", "message_ts": message.ts, "channel_id": message.channel, "is_ephemeral": false,
            },
            "message": { "type": "message", "ts": message.ts }, "actions": [action],
            "response_url": "https://hooks.slack.com/actions/T0TEAM/1/x",
        })
    }

    /// Sends the newest window of a person off with this text. Panics if none is open.
    pub fn submit(&self, user: &str, text: Option<&str>) -> String {
        let payload = self.submit_payload(user, text);
        self.send("interactive", payload)
    }

    /// Report of a window that was sent off, not sent.
    pub fn submit_payload(&self, user: &str, text: Option<&str>) -> Value {
        let mut view = self.shared.change(|inner| {
            let at = inner.windows.iter().rposition(|open| open.user == user).expect("an open window");
            inner.windows.remove(at).view
        });
        let input = view["blocks"][0].clone();
        let (block, action) = (input["block_id"].as_str(), input["element"]["action_id"].as_str());
        let value = json!({ "type": "plain_text_input", "value": text });
        view["state"] = json!({ "values": { block.expect("a name"): { action.expect("a name"): value } } });
        json!({
            "type": "view_submission", "api_app_id": "A0APP", "token": "legacy", "trigger_id": "unused",
            "team": { "id": TEAM, "domain": "example" }, "user": person(user), "view": view,
            "response_urls": [],
        })
    }

    /// Sends a direct message to the bot.
    pub fn write(&self, user: &str, text: &str) -> String {
        self.send("events_api", written(user, text))
    }

    /// Report of a direct message, not sent.
    pub fn write_payload(&self, user: &str, text: &str) -> Value {
        written(user, text)
    }

    /// Sends an envelope over the newest WebSocket, or the next one.
    #[expect(clippy::needless_pass_by_value, reason = "callers make the payload for it")]
    pub fn send(&self, kind: &str, payload: Value) -> String {
        self.shared.change(|inner| {
            let id = format!("envelope-{}", inner.next_id());
            let mut envelope =
                json!({ "envelope_id": id, "type": kind, "payload": payload, "accepts_response_payload": false });
            if kind == "events_api" {
                envelope["retry_attempt"] = 0.into();
                envelope["retry_reason"] = "".into();
            } else {
                envelope["accepts_response_payload"] = true.into();
            }
            inner.waiting.push_back(envelope);
            inner.send_waiting();
            id
        })
    }
}

impl SlackState {
    /// Sends what waits, once there is a WebSocket that will stay.
    pub(super) fn send_waiting(&mut self) {
        while let Some(line) = self.lines.iter().rev().find(|line| !line.is_ending)
            && let Some(envelope) = self.waiting.pop_front()
        {
            let id = envelope["envelope_id"].as_str().unwrap_or_default().to_owned();
            let sent = super::Envelope { id, socket: line.number, acknowledged: None };
            self.envelopes.push((sent, Instant::now()));
            drop(line.sender.send(super::sockets::Command::Text(envelope.to_string())));
        }
    }
}

fn person(user: &str) -> Value {
    let name = user.to_ascii_lowercase();
    json!({ "id": user, "username": name, "name": name, "team_id": TEAM })
}

fn written(user: &str, text: &str) -> Value {
    let channel = format!("D{}", user.trim_start_matches('U'));
    json!({
        "type": "event_callback", "team_id": TEAM, "api_app_id": "A0APP", "event_id": "Ev1", "event_time": 1_700_000_000,
        "authorizations": [{ "team_id": TEAM, "user_id": "U0BOT", "is_bot": true }],
        "event": {
            "type": "message", "channel": channel, "channel_type": "im", "user": user, "team": TEAM,
            "text": text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
            "ts": "1700000002.000000", "event_ts": "1700000002.000000",
        },
    })
}

/// Body of a request that reports an interaction.
pub fn form(payload: &Value) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish()
}

/// `X-Slack-Signature` of a request, from the definition of HMAC.
pub fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    let mut key = [0; 64];
    key[..secret.len()].copy_from_slice(secret.as_bytes());
    let inner = Sha256::new()
        .chain_update(key.map(|byte| byte ^ 0x36))
        .chain_update(format!("v0:{timestamp}:{body}"))
        .finalize();
    let outer = Sha256::new().chain_update(key.map(|byte| byte ^ 0x5C)).chain_update(inner).finalize();
    format!("v0={}", pyxis_core::hex::encode(&outer))
}
