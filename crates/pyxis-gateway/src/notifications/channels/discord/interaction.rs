//! Interactions: buttons, submitted windows, and the command that links an account.

use pyxis_core::secret::SecretString;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::message_ref;

/// Name of the window that asks for a reason, and of its field.
pub(super) const REASON: &str = "reason";
/// Name of the command that links an account, and of its option.
pub(super) const LINK: &str = "link";
pub(super) const CODE: &str = "code";

/// Kinds of interactions.
pub(super) const PING: u8 = 1;
pub(super) const COMMAND: u8 = 2;
pub(super) const COMPONENT: u8 = 3;
pub(super) const WINDOW: u8 = 5;

/// An interaction of a person.
#[derive(Deserialize, ToSchema)]
#[schema(as = DiscordInteraction, description = "An interaction. Other members are ignored.", example = json!({
    "type": 3,
    "application_id": "100000000000000001",
    "token": "<SECRET>",
    "data": {"component_type": 2, "custom_id": "<ID OF THE BUTTON>"},
    "member": {"user": {"id": "100000000000000002", "username": "ada"}}
}))]
pub(super) struct Interaction {
    #[serde(rename = "type")]
    pub(super) kind: u8,
    pub(super) application_id: String,
    /// Secret with which the response can be changed later.
    #[schema(value_type = String)]
    pub(super) token: SecretString,
    #[serde(default)]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(super) data: Option<InteractionData>,
    /// The message with the button.
    #[schema(ignore)]
    message: Option<PressedMessage>,
    /// Set on a server.
    #[schema(value_type = Option<Object>, nullable = false)]
    member: Option<Member>,
    /// Set in a direct message.
    #[schema(value_type = Option<Object>, nullable = false)]
    user: Option<DiscordUser>,
}

#[derive(Deserialize)]
struct PressedMessage {
    id: String,
    channel_id: String,
}

#[derive(Deserialize)]
struct Member {
    user: DiscordUser,
}

#[derive(Deserialize)]
pub(super) struct DiscordUser {
    pub(super) id: String,
    #[serde(default)]
    pub(super) username: String,
}

/// Details of an interaction.
#[derive(Default, Deserialize)]
pub(super) struct InteractionData {
    /// Name of a command.
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    options: Vec<CommandOption>,
    /// Id of a button or a window.
    #[serde(default)]
    pub(super) custom_id: String,
    /// Fields of a window.
    #[serde(default)]
    components: Value,
}

#[derive(Deserialize)]
struct CommandOption {
    name: String,
    #[serde(default)]
    value: Value,
}

impl Interaction {
    pub(super) fn person(&self) -> Option<&DiscordUser> {
        self.member.as_ref().map(|member| &member.user).or(self.user.as_ref())
    }

    /// Id of the message with the button, as it is stored.
    pub(super) fn message_ref(&self) -> Option<String> {
        self.message.as_ref().map(|message| message_ref(&message.channel_id, &message.id))
    }
}

impl InteractionData {
    /// Text of a command's option.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|option| option.name == name)?.value.as_str()
    }

    /// Text in a field of a window, unless it is blank.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.components.as_array()?.iter().map(|row| &row["component"]);
        let text = fields.find(|field| field["custom_id"] == name)?["value"].as_str()?;
        Some(text).filter(|text| !text.trim().is_empty())
    }
}

/// A button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Press {
    Approve,
    ApproveWithGrant,
    Deny,
}

impl Press {
    const ALL: [Self; 3] = [Self::Approve, Self::ApproveWithGrant, Self::Deny];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveWithGrant => "approve_with_grant",
            Self::Deny => "deny",
        }
    }

    /// Id of the button of a message.
    pub(super) fn id(self, nonce: &str) -> String {
        format!("{}:{nonce}", self.as_str())
    }

    /// The button with this id, and the nonce of its message.
    pub(super) fn parse(id: &str) -> Option<(Self, &str)> {
        let (name, nonce) = id.split_once(':')?;
        Some((Self::ALL.into_iter().find(|press| press.as_str() == name)?, nonce))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_button_is_read_from_its_id() {
        for press in Press::ALL {
            assert_eq!(Press::parse(&press.id("00ff")), Some((press, "00ff")));
        }
        for other in ["", "approve", "invented:00ff", ":00ff"] {
            assert_eq!(Press::parse(other), None);
        }
    }

    #[test]
    fn a_reason_is_the_field_of_that_name_unless_it_is_blank() {
        let of = |components: Value| {
            let data: InteractionData =
                serde_json::from_value(json!({ "custom_id": "reason:1", "components": components })).unwrap();
            data.field(REASON).map(str::to_owned)
        };
        let row = |name: &str, value: Value| json!({ "type": 18, "component": { "type": 4, "custom_id": name, "value": value } });
        assert_eq!(of(json!([row("other", json!("x")), row(REASON, json!("no"))])).as_deref(), Some("no"));
        for none in [
            json!(null),
            json!([]),
            json!([7]),
            json!([row(REASON, json!(" \n"))]),
            json!([row(REASON, json!(7))]),
        ] {
            assert_eq!(of(none.clone()), None, "{none}");
        }
    }

    #[test]
    fn the_person_is_the_member_on_a_server_and_the_user_in_a_direct_message() {
        let of = |members: Value| {
            let mut interaction = json!({ "type": 3, "application_id": "1", "token": "t" });
            interaction.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let read: Interaction = serde_json::from_value(interaction).unwrap();
            read.person().map(|user| user.id.clone())
        };
        assert_eq!(of(json!({ "member": { "user": { "id": "7" } } })).as_deref(), Some("7"));
        assert_eq!(of(json!({ "user": { "id": "8" } })).as_deref(), Some("8"));
        assert_eq!(of(json!({})), None);
    }
}
