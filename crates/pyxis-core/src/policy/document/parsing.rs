//! From JSON to a valid [`Policy`].
//!
//! Written by hand, not derived. Every error must name its field and say what to write, and serde names the field
//! of an error only in its text.

mod steps;

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{Policy, PolicyError};
use crate::approval_mode::Channel;
use crate::chat::ChatPlatform;
use crate::nearest::suggestion;
use crate::pattern;
use crate::policy::content::ContentRule;
use crate::policy::limits::{
    MAX_CONTENT_RULES, MAX_EMAIL_BYTES, MAX_LIST, MAX_ROOM_BYTES, MIN_APPROVALS, TIMEOUT_SECS,
};
use crate::policy::{EscalationStep, Method};

type Detail = String;

impl Policy {
    /// Parses and checks a policy document. A missing field has its default.
    pub fn from_json(json: &[u8]) -> Result<Self, PolicyError> {
        let document: Value =
            serde_json::from_slice(json).map_err(|error| PolicyError::Json(error.to_string()))?;
        if !document.is_object() {
            return Err(field_error("policy", "must be a JSON object".to_owned()));
        }
        let Fields(fields) =
            serde_json::from_slice(json).map_err(|error| PolicyError::Json(error.to_string()))?;
        let mut policy = Self::default();
        for (position, (field, value)) in fields.iter().enumerate() {
            // Parsers differ on which of two values counts.
            if fields[..position].iter().any(|(earlier, _)| earlier == field) {
                return Err(field_error(field, "is given twice; write it once".to_owned()));
            }
            policy.set(field, value).map_err(|detail| field_error(field, detail))?;
        }
        policy.check_people()?;
        Ok(policy)
    }

    /// Checks that everyone who is asked may decide.
    fn check_people(&self) -> Result<(), PolicyError> {
        let listed = |email: &&String| {
            self.allowed_approvers.is_empty()
                || self.allowed_approvers.iter().any(|one| one.eq_ignore_ascii_case(email))
        };
        let people = self.escalation.iter().flat_map(EscalationStep::emails);
        let asked = self.on_call.iter().map(|email| ("on_call", email));
        let asked = asked.chain(people.map(|email| ("escalation", email)));
        for (field, email) in asked {
            if !listed(&email) {
                let detail = format!(
                    "{} is not in allowed_approvers, so they may not decide; add the address there, or remove it here",
                    quoted(email)
                );
                return Err(field_error(field, detail));
            }
        }
        Ok(())
    }

    fn set(&mut self, field: &str, value: &Value) -> Result<(), Detail> {
        match field {
            "auto_approve_methods" => self.auto_approve_methods = methods(value)?,
            "require_approval_methods" => self.require_approval_methods = methods(value)?,
            "deny_methods" => self.deny_methods = methods(value)?,
            "auto_approve_urls" => self.auto_approve_urls = patterns(value)?,
            "require_approval_urls" => self.require_approval_urls = patterns(value)?,
            "deny_urls" => self.deny_urls = patterns(value)?,
            "content_rules" => self.content_rules = content_rules(value)?,
            "allowed_approvers" => self.allowed_approvers = emails(value)?,
            "on_call" => self.on_call = emails(value)?,
            "escalation" => self.escalation = steps::steps(value)?,
            "channel" => self.channel = channel(value)?,
            "min_approvals" => self.min_approvals = whole_number(value, &MIN_APPROVALS)?,
            "passkey_required" => self.passkey_required = flag(value)?,
            "require_reason" => self.require_reason = flag(value)?,
            "approval_timeout_secs" => {
                self.approval_timeout_secs = optional(value, |value| whole_number(value, &TIMEOUT_SECS))?;
            }
            _ => match ChatPlatform::of_room_field(field) {
                Some(platform) => self.rooms.set(platform, optional(value, parse_room)?),
                None => return Err(unknown_field(field)),
            },
        }
        Ok(())
    }
}

/// Every field of a policy document, except those of rooms.
const FIELDS: &[&str] = &[
    "auto_approve_methods",
    "require_approval_methods",
    "deny_methods",
    "auto_approve_urls",
    "require_approval_urls",
    "deny_urls",
    "content_rules",
    "allowed_approvers",
    "on_call",
    "escalation",
    "channel",
    "min_approvals",
    "passkey_required",
    "require_reason",
    "approval_timeout_secs",
];

fn unknown_field(field: &str) -> Detail {
    let rooms = ChatPlatform::ALL.iter().map(|platform| platform.spec().room_field);
    let known: Vec<_> = FIELDS.iter().copied().chain(rooms).collect();
    let suggestion = suggestion(field, known.iter().copied());
    format!("unknown policy field{suggestion}; known fields: {}", known.join(", "))
}

fn methods(value: &Value) -> Result<Vec<Method>, Detail> {
    let mut methods = Vec::new();
    for text in parse_texts(value)? {
        match Method::parse(text) {
            Some(Method::Head) => return Err("HEAD follows GET; list GET instead".to_owned()),
            Some(method) if methods.contains(&method) => {}
            Some(method) => methods.push(method),
            None => {
                return Err(format!(
                    "{} is not a method; use GET, POST, PUT, PATCH, DELETE, OPTIONS or WEBSOCKET",
                    quoted(text)
                ));
            }
        }
    }
    Ok(methods)
}

fn patterns(value: &Value) -> Result<Vec<String>, Detail> {
    each(value, |text| pattern::check(text).map_err(|error| error.to_string()))
}

fn content_rules(value: &Value) -> Result<Vec<String>, Detail> {
    let rules = each(value, |text| ContentRule::parse(text).map(drop).map_err(|error| error.to_string()))?;
    if rules.len() > MAX_CONTENT_RULES {
        return Err(format!("has {} rules; at most {MAX_CONTENT_RULES} are allowed", rules.len()));
    }
    Ok(rules)
}

fn emails(value: &Value) -> Result<Vec<String>, Detail> {
    each(value, |text| {
        let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ',' | ';');
        let looks_right = text.len() <= MAX_EMAIL_BYTES
            && !text.contains(odd)
            && text
                .split_once('@')
                .is_some_and(|(local, domain)| !local.is_empty() && is_mail_domain(domain));
        if looks_right {
            Ok(())
        } else {
            Err("is not an e-mail address; write `name@example.com`".to_owned())
        }
    })
}

fn is_mail_domain(domain: &str) -> bool {
    !domain.contains('@') && domain.split('.').all(|label| !label.is_empty())
}

/// A list of texts that all pass `check`; an error names the text.
fn each(value: &Value, check: impl Fn(&str) -> Result<(), Detail>) -> Result<Vec<String>, Detail> {
    parse_texts(value)?
        .into_iter()
        .map(|text| match check(text) {
            Ok(()) => Ok(text.to_owned()),
            Err(detail) => Err(format!("{}: {detail}", quoted(text))),
        })
        .collect()
}

fn parse_texts(value: &Value) -> Result<Vec<&str>, Detail> {
    let list = value.as_array().ok_or("must be a list of strings; write [] for none")?;
    if list.len() > MAX_LIST {
        return Err(format!("has {} entries; at most {MAX_LIST} are allowed", list.len()));
    }
    list.iter().map(|entry| entry.as_str().ok_or_else(|| "every entry must be a string".to_owned())).collect()
}

fn channel(value: &Value) -> Result<Channel, Detail> {
    value.as_str().and_then(Channel::from_name).ok_or_else(|| {
        let names: Vec<_> = Channel::all().map(Channel::as_str).collect();
        format!("must be one of {}", names.join(", "))
    })
}

fn parse_room(value: &Value) -> Result<String, Detail> {
    let fits = |text: &&str| {
        !text.trim().is_empty() && text.len() <= MAX_ROOM_BYTES && !text.contains(char::is_control)
    };
    value.as_str().filter(fits).map(str::to_owned).ok_or_else(|| {
        format!("must be the identifier of a chat or room, as a text of 1 to {MAX_ROOM_BYTES} bytes, or null")
    })
}

fn flag(value: &Value) -> Result<bool, Detail> {
    value.as_bool().ok_or_else(|| "must be true or false".to_owned())
}

fn whole_number(value: &Value, range: &RangeInclusive<u64>) -> Result<u32, Detail> {
    let number = value.as_u64().filter(|number| range.contains(number));
    number
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
}

fn optional<T>(value: &Value, read: impl Fn(&Value) -> Result<T, Detail>) -> Result<Option<T>, Detail> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

fn field_error(field: &str, detail: Detail) -> PolicyError {
    PolicyError::Field { field: shortened(field), detail }
}

fn quoted(text: &str) -> String {
    format!("`{}`", shortened(text))
}

/// Long or unprintable input is not echoed in full.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 100;
    let shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() { shown + "…" } else { shown }
}

/// The members of an object in document order, including repeated ones.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}
