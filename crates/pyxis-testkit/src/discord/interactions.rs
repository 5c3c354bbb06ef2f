//! Actions of people, as Discord posts them, and the responses to them.

use ed25519_dalek::Signer;
use pyxis_core::hex;
use serde_json::{Value, json};

use super::{APPLICATION, Discord, DiscordMessage, content, signing_key};

/// Response to an interaction, as a person sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum ShownResponse {
    /// Text that only this person sees.
    Text(String),
    Window(Value),
    /// A deferred text.
    Later,
}

impl ShownResponse {
    /// The text. Panics if it is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    /// The window. Panics if it is none.
    pub fn window(&self) -> &Value {
        match self {
            Self::Window(window) => window,
            other => panic!("no window: {other:?}"),
        }
    }
}

/// `X-Signature-Ed25519` of a request.
pub fn signature(timestamp: &str, body: &str) -> String {
    hex::encode(&signing_key().sign(format!("{timestamp}{body}").as_bytes()).to_bytes())
}

impl Discord {
    /// The first interaction, which examines the endpoint.
    pub fn ping(&self) -> Value {
        self.interaction(1, json!({}), json!({}))
    }

    /// A press of a button.
    pub fn press(&self, message: &DiscordMessage, label: &str, person: &str) -> Value {
        let id = message.button(label)["custom_id"].as_str().expect("a button that is no link");
        self.press_with(message, id, person)
    }

    /// A press of a button with any id.
    pub fn press_with(&self, message: &DiscordMessage, id: &str, person: &str) -> Value {
        let data = json!({ "component_type": 2, "custom_id": id, "id": 2 });
        let mut interaction = self.interaction(3, data, location(&message.channel, person));
        interaction["message"] = json!({ "id": message.id, "channel_id": message.channel });
        interaction
    }

    /// A window that is submitted with this text.
    pub fn submit(&self, window: &Value, person: &str, text: &str) -> Value {
        let field = &window["components"][0]["component"]["custom_id"];
        let label = json!({ "type": 18, "id": 1, "component": { "type": 4, "id": 2, "custom_id": field, "value": text } });
        let data = json!({ "custom_id": window["custom_id"], "components": [label] });
        self.interaction(5, data, location(super::CHANNEL, person))
    }

    /// The command `/link`.
    pub fn link(&self, person: &str, code: &str) -> Value {
        let options = json!([{ "type": 3, "name": "code", "value": code }]);
        let data = json!({ "id": "1", "type": 1, "name": "link", "options": options });
        self.interaction(2, data, location(super::CHANNEL, person))
    }

    fn interaction(&self, kind: u8, data: Value, place: Value) -> Value {
        let id = self.shared.change(super::DiscordState::next_id);
        let mut interaction = json!({
            "type": kind, "id": id, "application_id": APPLICATION, "token": format!("token/of+{id}"), "version": 1,
            "entitlements": [], "attachment_size_limit": 1024,
        });
        if kind != 1 {
            interaction["data"] = data;
        }
        if let (Some(all), Value::Object(place)) = (interaction.as_object_mut(), place) {
            all.extend(place);
        }
        interaction
    }

    /// Takes the response to an interaction. Panics if Discord would refuse it.
    pub fn show(&self, interaction: &Value, response: &Value) -> ShownResponse {
        let data = &response["data"];
        match response["type"].as_u64() {
            Some(4) => {
                assert_eq!(data["flags"], 64, "others see the answer: {response}");
                let shown = content::content(data).unwrap_or_else(|code| panic!("{code}: {response}"));
                assert!(!shown.has_markup, "{response}");
                ShownResponse::Text(shown.text)
            }
            Some(5) => {
                assert_eq!(data["flags"], 64, "others see the answer: {response}");
                let token = interaction["token"].as_str().expect("a token").to_owned();
                let token = token.replace('/', "%2F").replace('+', "%2B");
                self.shared.change(|inner| inner.deferred.insert(token, None));
                ShownResponse::Later
            }
            Some(9) if interaction["type"] != 5 => {
                assert!(content::is_window(data), "{response}");
                ShownResponse::Window(data.clone())
            }
            _ => panic!("no response to {interaction}: {response}"),
        }
    }

    /// The text that replaced a deferred response.
    pub async fn shown_later(&self, interaction: &Value) -> String {
        let token = interaction["token"].as_str().expect("a token").replace('/', "%2F").replace('+', "%2B");
        self.until(|discord| discord.shared.inner().deferred.get(&token).cloned().flatten()).await
    }
}

/// Person and place of an interaction: a member on a server, and a user in a direct message.
fn location(channel: &str, person: &str) -> Value {
    let user = json!({ "id": person, "username": format!("user{}", &person[person.len() - 2..]), "discriminator": "0" });
    if channel.starts_with("14") {
        return json!({ "channel_id": channel, "user": user, "context": 1 });
    }
    json!({ "channel_id": channel, "guild_id": "1000000000000000001", "member": { "user": user, "roles": [] }, "context": 0 })
}
