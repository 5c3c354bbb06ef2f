//! Escalation steps: more rooms and people to ask while a request is pending.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::chat::ChatPlatform;

/// A step of an escalation. It is performed once, if the request is still pending then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationStep {
    /// Minutes after the request; unique within a policy.
    pub after_minutes: u32,
    /// Room or people to ask.
    pub target: EscalationTarget,
}

/// Room or people that a step asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EscalationTarget {
    Room(ChatPlatform, String),
    /// Everyone who may decide.
    Eligible,
    /// These people, by email address.
    People(Vec<String>),
}

impl EscalationStep {
    /// Value of `people` for everyone who may decide.
    pub const ELIGIBLE: &'static str = "eligible";

    /// Email addresses that the step names.
    pub fn emails(&self) -> &[String] {
        match &self.target {
            EscalationTarget::People(emails) => emails,
            EscalationTarget::Room(..) | EscalationTarget::Eligible => &[],
        }
    }

    /// The room that it names on a platform.
    pub fn room(&self, on: ChatPlatform) -> Option<&str> {
        match &self.target {
            EscalationTarget::Room(platform, room) if *platform == on => Some(room),
            _ => None,
        }
    }
}

impl Serialize for EscalationStep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("after_minutes", &self.after_minutes)?;
        match &self.target {
            EscalationTarget::Room(platform, room) => {
                fields.serialize_entry(platform.spec().room_field, room)?;
            }
            EscalationTarget::Eligible => fields.serialize_entry("people", Self::ELIGIBLE)?,
            EscalationTarget::People(emails) => fields.serialize_entry("people", emails)?,
        }
        fields.end()
    }
}

/// The step as a line of a form: `10 slack_channel C0123456789`, `20 eligible`, `30 ann@example.com ben@example.com`.
impl fmt::Display for EscalationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.after_minutes)?;
        match &self.target {
            EscalationTarget::Room(platform, room) => write!(f, "{} {room}", platform.spec().room_field),
            EscalationTarget::Eligible => f.write_str(Self::ELIGIBLE),
            EscalationTarget::People(emails) => f.write_str(&emails.join(" ")),
        }
    }
}
