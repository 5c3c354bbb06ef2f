//! Announcements of a pending request or task, as results tell them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Announcement to a room or to people, without saying which.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Announcement {
    /// Name of a chat platform, or `push`.
    channel: String,
    /// `room` or `people`.
    kind: String,
    /// Number of people; absent for a room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    at: String,
}

impl Announcement {
    fn in_words(&self) -> String {
        let to = match (self.kind.as_str(), self.count) {
            ("people", Some(1)) => "1 person".to_owned(),
            ("people", Some(count)) => format!("{count} people"),
            _ => "a room".to_owned(),
        };
        let channel = if self.channel == "push" { "by browser notification" } else { &self.channel };
        let on = if self.channel == "push" { "" } else { "on " };
        format!("{to} {on}{channel}")
    }
}

/// Announcements of a pending request or task, and the time of the next ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Announcements {
    #[serde(default)]
    asked: Vec<Announcement>,
    #[serde(default)]
    next_step_at: Option<String>,
}

impl Announcements {
    /// The announcements in a response of the proxy. One that cannot be read leaves them out.
    pub(crate) fn read(value: &Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }

    /// Sentences to append, with a leading space. Empty if no one was or will be asked.
    pub(crate) fn in_words(&self) -> String {
        let mut words = String::new();
        if !self.asked.is_empty() {
            let asked: Vec<String> = self.asked.iter().map(Announcement::in_words).collect();
            words = format!(" Pyxis asked: {}.", asked.join(", "));
        }
        if let Some(at) = &self.next_step_at {
            let _ = write!(words, " It asks more people or another room at {at}.");
        }
        words
    }

    /// Adds the members of the poll body to a structured result.
    pub(crate) fn add_to(&self, data: &mut Value) {
        data["asked"] = serde_json::to_value(&self.asked).unwrap_or_default();
        if let Some(at) = &self.next_step_at {
            data["next_step_at"] = at.as_str().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn announcements_are_told_without_names_and_as_in_the_poll_body() {
        let body = json!({
            "asked": [
                {"channel": "slack", "kind": "room", "at": "2026-01-31T09:05:00.250Z"},
                {"channel": "telegram", "kind": "people", "count": 1, "at": "2026-01-31T09:05:00.250Z"},
                {"channel": "push", "kind": "people", "count": 2, "at": "2026-01-31T09:05:00.250Z"},
            ],
            "next_step_at": "2026-01-31T09:15:00.250Z",
        });
        let announcements = Announcements::read(&body);
        assert_eq!(
            announcements.in_words(),
            " Pyxis asked: a room on slack, 1 person on telegram, 2 people by browser notification. \
             It asks more people or another room at 2026-01-31T09:15:00.250Z."
        );
        let mut data = json!({});
        announcements.add_to(&mut data);
        assert_eq!(data, body);
    }

    #[test]
    fn nothing_is_said_of_a_request_that_was_not_announced() {
        let none = Announcements::read(&json!({"asked": []}));
        assert_eq!(none.in_words(), "");
        let mut data = json!({});
        none.add_to(&mut data);
        assert_eq!(data, json!({"asked": []}));
    }
}
