//! Values of a body that a form can edit, and the body with other values.
//!
//! Nothing but the edited values changes: every other byte stays as the agent wrote it.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::text;
use crate::view::edit::{BodyInput, ValueInput};

/// Most values with an input of their own. A body with more is edited as text.
const MAX_VALUES: usize = 100;
/// Deepest nesting with inputs.
const MAX_DEPTH: usize = 8;

struct BodyValue {
    input: ValueInput,
    /// Its bytes in the body.
    range: Range<usize>,
    kind: ValueKind,
}

/// Kind of a value, which an edit keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Text,
    Number,
    Boolean,
    Null,
    FormField,
}

/// Inputs for a text body.
pub(super) fn inputs(content_type: Option<&str>, body: &str) -> BodyInput {
    if text::visible(body) != body {
        return BodyInput::Fixed("it has characters that cannot be seen");
    }
    match places(content_type, body) {
        Some(places) => BodyInput::Values(places.into_iter().map(|place| place.input).collect()),
        None => BodyInput::Text(body.to_owned()),
    }
}

/// The body with other values, which stand in the order of [`inputs`].
///
/// # Errors
/// A sentence about a value that does not fit.
pub(super) fn with_values(
    content_type: Option<&str>,
    body: &str,
    values: impl Fn(usize) -> Option<String>,
) -> Result<String, String> {
    let Some(places) = places(content_type, body) else { return Ok(body.to_owned()) };
    let mut edited = String::with_capacity(body.len());
    let mut end = 0;
    for (index, place) in places.iter().enumerate() {
        let Some(value) = values(index).filter(|value| *value != place.input.value) else { continue };
        edited.push_str(&body[end..place.range.start]);
        edited.push_str(&written(place, &value)?);
        end = place.range.end;
    }
    edited.push_str(&body[end..]);
    Ok(edited)
}

/// A value as it stands in a body.
fn written(place: &BodyValue, value: &str) -> Result<String, String> {
    let trimmed = value.trim();
    let label = &place.input.label;
    match place.kind {
        ValueKind::FormField => Ok(utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()),
        ValueKind::Text => Ok(quoted(value)),
        ValueKind::Null => Ok(if trimmed == "null" { trimmed.to_owned() } else { quoted(value) }),
        ValueKind::Boolean => match trimmed {
            "true" | "false" => Ok(trimmed.to_owned()),
            _ => Err(format!("{label} must be true or false")),
        },
        ValueKind::Number => match serde_json::from_str::<serde_json::Number>(trimmed) {
            Ok(_) => Ok(trimmed.to_owned()),
            Err(_) => Err(format!("{label} must be a number")),
        },
    }
}

fn quoted(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// Editable values in order. `None` if the body is edited as text.
fn places(content_type: Option<&str>, body: &str) -> Option<Vec<BodyValue>> {
    let media = content_type.unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let places = if media == "application/x-www-form-urlencoded" {
        form_places(body)
    } else {
        let top: &RawValue = serde_json::from_str(body).ok()?;
        let mut walk = Walk { body, places: Vec::new() };
        // A single value is simpler as text.
        (top.get().starts_with('{') && walk.value(top, String::new(), 0).is_some()).then_some(walk.places)?
    };
    (!places.is_empty() && places.len() <= MAX_VALUES).then_some(places)
}

/// Value of a part of a text.
fn range(body: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - body.as_ptr() as usize;
    start..start + part.len()
}

fn form_places(body: &str) -> Vec<BodyValue> {
    let decode = |part: &str| {
        let spaced = part.replace('+', " ");
        percent_decode(spaced.as_bytes()).decode_utf8().ok().map(std::borrow::Cow::into_owned)
    };
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .filter_map(|(name, value)| {
            let input = ValueInput { label: decode(name)?, value: decode(value)? };
            Some(BodyValue { input, range: range(body, value), kind: ValueKind::FormField })
        })
        .filter(|place| text::visible(&place.input.value) == place.input.value)
        .collect()
}

/// Collects the scalar values of JSON.
struct Walk<'b> {
    body: &'b str,
    places: Vec<BodyValue>,
}

impl<'b> Walk<'b> {
    /// `None` if names repeat or the nesting is deep: a label would not tell the place.
    fn value(&mut self, raw: &'b RawValue, label: String, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.places.len() > MAX_VALUES {
            return None;
        }
        match raw.get().as_bytes().first()? {
            b'{' => {
                let Members(members) = serde_json::from_str(raw.get()).ok()?;
                let names: BTreeSet<&String> = members.iter().map(|(name, _)| name).collect();
                if names.len() < members.len() {
                    return None;
                }
                for (name, member) in &members {
                    let label = if label.is_empty() { name.clone() } else { format!("{label}.{name}") };
                    self.value(member, label, depth + 1)?;
                }
            }
            b'[' => {
                let items: Vec<&'b RawValue> = serde_json::from_str(raw.get()).ok()?;
                for (index, item) in items.iter().enumerate() {
                    self.value(item, format!("{label}[{index}]"), depth + 1)?;
                }
            }
            first => self.scalar(*first, raw, label)?,
        }
        Some(())
    }

    fn scalar(&mut self, first: u8, raw: &'b RawValue, label: String) -> Option<()> {
        let (kind, value) = match first {
            b'"' => (ValueKind::Text, serde_json::from_str(raw.get()).ok()?),
            b't' | b'f' => (ValueKind::Boolean, raw.get().to_owned()),
            b'n' => (ValueKind::Null, raw.get().to_owned()),
            _ => (ValueKind::Number, raw.get().to_owned()),
        };
        // What cannot be seen in an input stays as it is.
        if text::visible(&value) == value {
            let range = range(self.body, raw.get());
            self.places.push(BodyValue { input: ValueInput { label, value }, range, kind });
        }
        Some(())
    }
}

/// Members of an object in order, repeated ones included.
struct Members<'b>(Vec<(String, &'b RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str =
        r#"{ "to": "a\u0041", "amount": 5.00, "ok": true, "items": [{"n": null}], "amount2": 1e2 }"#;

    fn labels(content_type: &str, body: &str) -> Vec<(String, String)> {
        match inputs(Some(content_type), body) {
            BodyInput::Values(inputs) => inputs.into_iter().map(|input| (input.label, input.value)).collect(),
            other => panic!("no values: {other:?}"),
        }
    }

    #[test]
    fn each_scalar_of_json_has_an_input_and_nothing_else_changes() {
        let shown = labels("application/json", JSON);
        let expected =
            [("to", "aA"), ("amount", "5.00"), ("ok", "true"), ("items[0].n", "null"), ("amount2", "1e2")];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let same = with_values(None, JSON, |index| Some(shown[index].1.clone())).unwrap();
        assert_eq!(same, JSON);
        let edit =
            |at: usize, value: &str| with_values(None, JSON, |index| (index == at).then(|| value.to_owned()));
        assert_eq!(edit(1, "50").unwrap(), JSON.replace("5.00", "50"));
        assert_eq!(edit(0, "b\"").unwrap(), JSON.replace(r#""a\u0041""#, r#""b\"""#));
        assert_eq!(edit(3, "x").unwrap(), JSON.replace("null", r#""x""#));
        assert!(edit(1, "1, \"x\": 2").unwrap_err().contains("amount"));
        assert!(edit(2, "yes").is_err());
    }

    #[test]
    fn fields_of_a_form_are_edited_one_by_one() {
        let (kind, body) = ("application/x-www-form-urlencoded", "to=a%40b&flag&n=1+0&n=2");
        let shown = labels(kind, body);
        let expected = [("to", "a@b"), ("n", "1 0"), ("n", "2")];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let edited = with_values(Some(kind), body, |index| (index == 2).then(|| "3&x=1".to_owned()));
        assert_eq!(edited.unwrap(), "to=a%40b&flag&n=1+0&n=3%26x%3D1");
    }

    #[test]
    fn what_a_form_could_not_send_back_is_edited_as_text_or_not_at_all() {
        assert!(matches!(inputs(None, r#"{"a": 1, "a": 2}"#), BodyInput::Text(_)));
        assert!(matches!(inputs(None, "plain"), BodyInput::Text(_)));
        assert!(matches!(inputs(None, "[]"), BodyInput::Text(_)));
        assert!(matches!(inputs(None, "hid\u{202e}den"), BodyInput::Fixed(_)));
        assert!(matches!(inputs(None, "line\r\nline"), BodyInput::Fixed(_)));
    }
}
