//! Reports of Slack, the same in Socket Mode and by signed requests.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::message_ref;

/// Somebody pressed a button or sent a window off. Other members are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Interaction {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) user: SlackUser,
    pub(super) team: Option<ObjectId>,
    /// Opens a window within three seconds.
    pub(super) trigger_id: Option<String>,
    pub(super) channel: Option<ObjectId>,
    container: Option<Container>,
    #[serde(default)]
    pub(super) actions: Vec<Pressed>,
    pub(super) view: Option<Window>,
}

/// Place of a button.
#[derive(Debug, Deserialize)]
struct Container {
    channel_id: Option<String>,
    message_ts: Option<String>,
}

impl Interaction {
    /// Id of the message with the button, as it is stored.
    pub(super) fn message_ref(&self) -> Option<String> {
        let container = self.container.as_ref()?;
        Some(message_ref(container.channel_id.as_ref()?, container.message_ts.as_ref()?))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct SlackUser {
    pub(super) id: String,
    /// Team of the person, which in a shared channel is another one than the app's.
    pub(super) team_id: Option<String>,
    #[serde(default)]
    pub(super) username: String,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ObjectId {
    pub(super) id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pressed {
    #[serde(default)]
    pub(super) action_id: String,
    #[serde(default)]
    pub(super) value: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Window {
    #[serde(default)]
    pub(super) callback_id: String,
    #[serde(default)]
    pub(super) private_metadata: String,
    #[serde(default)]
    pub(super) state: Value,
}

impl Window {
    /// Text in the field of this name.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        self.state["values"][name][name]["value"].as_str().map(str::to_owned)
    }
}

/// The outer part of an event.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SlackEvent, description = "A request of the Events API. Other members are ignored.", example = json!({
    "type": "event_callback",
    "team_id": "T0001",
    "event": {"type": "message", "channel_type": "im", "channel": "D0001", "user": "U0001", "text": "hello"}
}))]
pub(super) struct EventRequest {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    /// To be sent back when Slack examines the address.
    pub(super) challenge: Option<String>,
    #[serde(default)]
    pub(super) team_id: String,
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(super) event: Option<Event>,
}

/// Something that happened.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) channel_type: String,
    #[serde(default)]
    pub(super) channel: Value,
    pub(super) user: Option<String>,
    pub(super) user_team: Option<String>,
    pub(super) text: Option<String>,
    /// Set on what a person did not simply write.
    pub(super) subtype: Option<String>,
    /// Set on what a bot wrote, this one included.
    pub(super) bot_id: Option<String>,
}

/// One report.
pub(super) enum Report {
    Interaction(Box<Interaction>),
    Event(Box<EventRequest>),
    /// Nothing that concerns Pyxis.
    Other,
}

impl Report {
    /// The payload of an envelope. What cannot be read concerns no message of Pyxis.
    pub(super) fn from_envelope(kind: &str, payload: Value) -> Self {
        let read = match kind {
            "interactive" => serde_json::from_value(payload).map(|found| Self::Interaction(Box::new(found))),
            "events_api" => serde_json::from_value(payload).map(|found| Self::Event(Box::new(found))),
            _ => return Self::Other,
        };
        read.unwrap_or_else(|error| {
            tracing::debug!(kind, %error, "cannot read what Slack reports");
            Self::Other
        })
    }
}
