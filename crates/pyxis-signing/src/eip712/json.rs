//! JSON with exact numbers. Typed data contains integers of up to 256 bits, which `serde_json::Value` would round.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::abi_words::AbiWord;
use super::data::{Members, TypedValue, integer};
use super::invalid::{Invalid, shortened};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 64;
/// Maximum members of an object. No valid type or list of types has more.
const MAX_MEMBERS: usize = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JsonNumberText {
    Null,
    Bool(bool),
    /// The number as written.
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(Object),
}

/// Members in input order, without duplicate names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object(Vec<(String, JsonNumberText)>);

/// Parses text that must be one object.
pub(super) fn parse(json: &[u8]) -> Result<Object, Invalid> {
    let raw: &RawValue = serde_json::from_slice(json).map_err(|_| Invalid::Form)?;
    match read(raw, MAX_DEPTH)? {
        JsonNumberText::Object(object) => Ok(object),
        _ => Err(Invalid::Form),
    }
}

/// Parses a value with at most `depth` levels. Nested values are parsed separately, because only [`RawValue`] keeps
/// numbers as written.
fn read(raw: &RawValue, depth: usize) -> Result<JsonNumberText, Invalid> {
    let text = raw.get();
    Ok(match text.as_bytes() {
        [b'{', ..] => {
            let depth = depth.checked_sub(1).ok_or(Invalid::TooComplex)?;
            let Pairs(pairs) = serde_json::Deserializer::from_str(text)
                .deserialize_map(PairsVisitor)
                .map_err(|_| Invalid::Form)?;
            if pairs.len() > MAX_MEMBERS {
                return Err(Invalid::TooComplex);
            }
            let mut members: Vec<(String, JsonNumberText)> = Vec::with_capacity(pairs.len());
            for (name, value) in pairs {
                if members.iter().any(|(other, _)| *other == name) {
                    return Err(Invalid::Twice(shortened(&name)));
                }
                members.push((name.into_owned(), read(value, depth)?));
            }
            JsonNumberText::Object(Object(members))
        }
        [b'[', ..] => {
            let depth = depth.checked_sub(1).ok_or(Invalid::TooComplex)?;
            let items: Vec<&RawValue> = from_str(text)?;
            JsonNumberText::List(items.into_iter().map(|item| read(item, depth)).collect::<Result<_, _>>()?)
        }
        [b'"', ..] => JsonNumberText::Text(from_str(text)?),
        [b't' | b'f', ..] => JsonNumberText::Bool(from_str(text)?),
        [b'n', ..] => JsonNumberText::Null,
        _ => JsonNumberText::Number(text.to_owned()),
    })
}

fn from_str<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Invalid> {
    serde_json::from_str(text).map_err(|_| Invalid::Form)
}

/// Members whose values are not parsed yet.
struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

struct PairsVisitor;

impl<'a> Visitor<'a> for PairsVisitor {
    type Value = Pairs<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Pairs<'a>, A::Error> {
        let mut pairs = Vec::new();
        while let Some((name, value)) = members.next_entry::<Cow<'a, str>, &RawValue>()? {
            pairs.push((name, value));
        }
        Ok(Pairs(pairs))
    }
}

impl Object {
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &JsonNumberText)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl TypedValue for JsonNumberText {
    type Object = Object;

    fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn boolean(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    fn list(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    fn object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    fn integer(&self, signed: bool, bits: u32) -> Option<AbiWord> {
        match self {
            Self::Number(text) | Self::Text(text) => integer(text, signed, bits),
            _ => None,
        }
    }
}

impl Members for Object {
    type Value = JsonNumberText;

    fn member(&self, name: &str) -> Option<&JsonNumberText> {
        self.members().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.members().map(|(name, _)| name)
    }

    fn count(&self) -> usize {
        self.0.len()
    }
}
