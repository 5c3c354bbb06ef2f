//! Chat platforms, and the rooms that a policy names on them.
//!
//! [`ChatPlatform::ALL`] is the only list of platforms in this crate and in the store. How Pyxis talks to each of them is
//! in `pyxis-gateway/src/notifications/channels`; `docs/guides/add-a-chat-platform.md` says how to add one.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChatPlatform(&'static ChatPlatformSpec);

/// Names and abilities of a chat platform. The first three names are stored and on the wire, so they never change.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChatPlatformSpec {
    /// Name in stored rows, audit records, metrics and logs.
    pub name: &'static str,
    /// Channel of a policy that announces requests there.
    pub channel: &'static str,
    /// Policy field that names a room, also used for the workspace's default room.
    pub room_field: &'static str,
    /// Name as the platform spells it.
    pub label: &'static str,
    /// The platform's word for a room.
    pub room_noun: &'static str,
    /// True if the id of an account is also the id of the private chat with it.
    pub private_chats: bool,
    /// True if people decide there, by buttons or reactions. Otherwise messages carry a link to the page.
    pub decides: bool,
    /// True if a posted message can be changed. Otherwise it stays as it was posted.
    pub edits: bool,
    /// Longest message, in UTF-16 units. Longer requests are not shown, only linked.
    pub message_max: usize,
}

impl ChatPlatform {
    /// Telegram, through a bot.
    pub const TELEGRAM: Self = Self(&ChatPlatformSpec {
        name: "telegram",
        channel: "chat_primary",
        room_field: "telegram_chat",
        label: "Telegram",
        room_noun: "chat",
        private_chats: true,
        decides: true,
        edits: true,
        message_max: 4096,
    });

    /// Matrix, through an account of a homeserver.
    pub const MATRIX: Self = Self(&ChatPlatformSpec {
        name: "matrix",
        channel: "chat_secondary",
        room_field: "matrix_room",
        label: "Matrix",
        room_noun: "room",
        private_chats: false,
        decides: true,
        edits: true,
        message_max: 16_384,
    });

    /// Slack, through an app with a bot.
    pub const SLACK: Self = Self(&ChatPlatformSpec {
        name: "slack",
        channel: "slack",
        room_field: "slack_channel",
        label: "Slack",
        room_noun: "channel",
        private_chats: true,
        decides: true,
        edits: true,
        // Escaped text is up to five times as long, and Slack refuses more than about 13,000 characters in all blocks.
        message_max: 2600,
    });

    /// Discord, through an application with a bot.
    pub const DISCORD: Self = Self(&ChatPlatformSpec {
        name: "discord",
        channel: "discord",
        room_field: "discord_channel",
        label: "Discord",
        room_noun: "channel",
        private_chats: true,
        decides: true,
        edits: true,
        // Escaped text is up to twice as long, and Discord refuses more than 6,000 characters in all embeds.
        message_max: 2600,
    });

    /// E-mail, through an SMTP server.
    pub const EMAIL: Self = Self(&ChatPlatformSpec {
        name: "email",
        channel: "email",
        room_field: "email_to",
        label: "E-mail",
        room_noun: "address",
        private_chats: false,
        decides: false,
        edits: false,
        message_max: 65_536,
    });

    /// ntfy: a topic that phones and browsers subscribe to.
    pub const NTFY: Self = Self(&ChatPlatformSpec {
        name: "ntfy",
        channel: "ntfy",
        room_field: "ntfy_topic",
        label: "ntfy",
        room_noun: "topic",
        private_chats: false,
        decides: false,
        edits: false,
        message_max: 3000,
    });

    /// Microsoft Teams, through the webhooks of workflows. A room is the name of a webhook in the settings.
    pub const TEAMS: Self = Self(&ChatPlatformSpec {
        name: "teams",
        channel: "teams",
        room_field: "teams_channel",
        label: "Microsoft Teams",
        room_noun: "channel",
        private_chats: false,
        decides: false,
        edits: false,
        message_max: 16_384,
    });

    /// Cards as JSON, for any receiver. A room is the name of an endpoint in the settings.
    pub const CARD: Self = Self(&ChatPlatformSpec {
        name: "card",
        channel: "card",
        room_field: "card_endpoint",
        label: "Webhook card",
        room_noun: "endpoint",
        private_chats: false,
        decides: false,
        edits: true,
        message_max: 16_384,
    });

    /// Every platform, in the order of pages and documents.
    pub const ALL: &'static [Self] = &[
        Self::TELEGRAM,
        Self::MATRIX,
        Self::SLACK,
        Self::DISCORD,
        Self::EMAIL,
        Self::NTFY,
        Self::TEAMS,
        Self::CARD,
    ];

    /// A platform outside of [`Self::ALL`], for tests of code that works with any. It cannot be stored.
    pub const fn unlisted(spec: &'static ChatPlatformSpec) -> Self {
        Self(spec)
    }

    /// Names and abilities.
    pub const fn spec(self) -> &'static ChatPlatformSpec {
        self.0
    }

    /// Name of a field that names a room, such as `Telegram chat`.
    pub fn room_label(self) -> String {
        format!("{} {}", self.0.label, self.0.room_noun)
    }

    /// The rooms that a setting names: one, or on e-mail each address of a list with commas. Each has its own messages.
    pub fn rooms_of(self, setting: &str) -> Vec<String> {
        if self != Self::EMAIL {
            return vec![setting.to_owned()];
        }
        let mut rooms = Vec::new();
        for room in setting.split(',').map(str::trim).filter(|room| !room.is_empty()) {
            if !rooms.iter().any(|known: &String| known == room) {
                rooms.push(room.to_owned());
            }
        }
        rooms
    }

    /// Stored name.
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }

    /// The platform with this stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|platform| platform.0.name == name)
    }

    /// The platform whose rooms a policy names in this field.
    pub fn of_room_field(field: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|platform| platform.0.room_field == field)
    }
}

impl fmt::Debug for ChatPlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// Rooms named by a policy, at most one per platform. They override the workspace's.
///
/// Serialized as one member per platform, null where none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rooms(BTreeMap<ChatPlatform, String>);

impl Rooms {
    /// Room on a platform.
    pub fn get(&self, platform: ChatPlatform) -> Option<&str> {
        self.0.get(&platform).map(String::as_str)
    }

    /// Names a room, or none.
    pub fn set(&mut self, platform: ChatPlatform, room: Option<String>) {
        match room {
            Some(room) => drop(self.0.insert(platform, room)),
            None => drop(self.0.remove(&platform)),
        }
    }

    /// Named rooms with their platforms.
    pub fn iter(&self) -> impl Iterator<Item = (ChatPlatform, &str)> {
        self.0.iter().map(|(platform, room)| (*platform, room.as_str()))
    }
}

impl Serialize for Rooms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(ChatPlatform::ALL.len()))?;
        for platform in ChatPlatform::ALL {
            fields.serialize_entry(platform.0.room_field, &self.get(*platform))?;
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_platforms_share_a_name_a_channel_or_a_field() {
        let count = |name: fn(&ChatPlatformSpec) -> &'static str| {
            ChatPlatform::ALL.iter().map(|platform| name(platform.spec())).collect::<BTreeSet<_>>().len()
        };
        for name in [
            (|spec| spec.name) as fn(&ChatPlatformSpec) -> &'static str,
            |spec| spec.channel,
            |spec| spec.room_field,
            |spec| spec.label,
        ] {
            assert_eq!(count(name), ChatPlatform::ALL.len());
        }
    }

    #[test]
    fn a_platform_is_found_by_its_stored_name_and_by_its_policy_field() {
        for platform in ChatPlatform::ALL {
            assert_eq!(ChatPlatform::from_name(platform.as_str()), Some(*platform));
            assert_eq!(ChatPlatform::of_room_field(platform.spec().room_field), Some(*platform));
        }
        assert_eq!(ChatPlatform::from_name("Telegram"), None);
        assert_eq!(ChatPlatform::of_room_field("telegram"), None);
    }

    #[test]
    fn rooms_are_written_as_one_field_per_platform() {
        let written = |named: Option<ChatPlatform>| {
            let field = |platform: &ChatPlatform| {
                let room = if Some(*platform) == named { r#""!r:example.org""# } else { "null" };
                format!("\"{}\":{room}", platform.spec().room_field)
            };
            format!("{{{}}}", ChatPlatform::ALL.iter().map(field).collect::<Vec<_>>().join(","))
        };
        let mut rooms = Rooms::default();
        assert_eq!(serde_json::to_string(&rooms).unwrap(), written(None));
        rooms.set(ChatPlatform::MATRIX, Some("!r:example.org".to_owned()));
        assert_eq!(serde_json::to_string(&rooms).unwrap(), written(Some(ChatPlatform::MATRIX)));
        assert_eq!(rooms.iter().collect::<Vec<_>>(), [(ChatPlatform::MATRIX, "!r:example.org")]);
        rooms.set(ChatPlatform::MATRIX, None);
        assert_eq!(rooms, Rooms::default());
    }

    #[test]
    fn only_on_email_does_a_setting_name_several_rooms() {
        let list = "a@example.com, b@example.com,,a@example.com ,";
        assert_eq!(ChatPlatform::EMAIL.rooms_of(list), ["a@example.com", "b@example.com"]);
        assert_eq!(ChatPlatform::EMAIL.rooms_of("a@example.com"), ["a@example.com"]);
        assert_eq!(ChatPlatform::MATRIX.rooms_of(list), [list]);
    }
}
