//! JSON for credentials: unique keys, bounded size, texts borrowed from the input.
//!
//! `serde_json::Value` does not fit: it keeps the last of two equal keys, copies every text, and needs a second pass.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::rejection::{Rejection, shortened};

/// Longest credential, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// Deepest nesting; a credential with typed data has seven levels.
pub const MAX_DEPTH: usize = 16;
/// Maximum number of members in one object.
pub const MAX_MEMBERS: usize = 64;

#[derive(Debug)]
pub(super) enum JsonNode<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Another number, as written: a fraction, or beyond 64 bits.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<JsonNode<'a>>),
    Object(Object<'a>),
    /// A value that [`parse_except`] skips, as written in the text.
    Unread(&'a str),
}

/// Members in input order, with unique keys. Few enough that a linear search is fastest.
#[derive(Debug)]
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, JsonNode<'a>)>);

/// Parses a text that is one object.
pub(super) fn parse(text: &str) -> Result<Object<'_>, Rejection> {
    if text.len() > MAX_BYTES {
        return Err(Rejection::TooLarge { max: MAX_BYTES });
    }
    let (failure, other) = (Cell::new(None), Cell::new(false));
    let nodes = Nodes { depth: 0, failure: &failure, except: None, other: &other, exact: false };
    let told = |error| failure.take().unwrap_or_else(|| malformed(&error));
    let object = read(text, nodes).map_err(told)?;
    // Rare enough that all others are read in one pass.
    if other.get() { read(text, Nodes { exact: true, ..nodes }).map_err(told) } else { Ok(object) }
}

/// Parses a text whose value at `path` is known and is left [`JsonNode::Unread`]. `None` if that value differs, or if
/// the text has any fault.
pub(super) fn parse_except<'a>(
    text: &'a str,
    path: [&str; 2],
    known: impl Fn(&str) -> bool,
) -> Option<Object<'a>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let (except, other) = (Some(Except { path: &path, known: &known }), Cell::new(false));
    let nodes = Nodes { depth: 0, failure: &Cell::new(None), except, other: &other, exact: false };
    read(text, nodes).ok().filter(|_| !other.get())
}

fn read<'a>(text: &'a str, nodes: Nodes<'_>) -> serde_json::Result<Object<'a>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let node = json.deserialize_map(nodes)?;
    json.end()?;
    match node {
        JsonNode::Object(object) => Ok(object),
        _ => Err(serde_json::Error::custom("not an object")),
    }
}

fn malformed(error: &serde_json::Error) -> Rejection {
    Rejection::MalformedJson { line: error.line(), column: error.column() }
}

impl<'a> Object<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&JsonNode<'a>> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut JsonNode<'a>> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<JsonNode<'a>> {
        let position = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.swap_remove(position).1)
    }

    pub(super) fn put(&mut self, key: &'static str, value: JsonNode<'a>) {
        self.0.push((Cow::Borrowed(key), value));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &JsonNode<'a>)> {
        self.0.iter().map(|(name, node)| (&**name, node))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The required member `key`.
    pub(super) fn member(&self, key: &str) -> Result<&JsonNode<'a>, Rejection> {
        self.get(key).ok_or_else(|| Rejection::missing(key))
    }

    /// The required text `key`.
    pub(super) fn text(&self, key: &str) -> Result<&str, Rejection> {
        match self.member(key)? {
            JsonNode::Text(text) => Ok(text),
            _ => Err(Rejection::form(key, "a string")),
        }
    }

    /// The required list `key`.
    pub(super) fn list(&self, key: &str) -> Result<&[JsonNode<'a>], Rejection> {
        match self.member(key)? {
            JsonNode::List(list) => Ok(list),
            _ => Err(Rejection::form(key, "a list")),
        }
    }

    /// The required object `key`.
    pub(super) fn object(&self, key: &str) -> Result<&Self, Rejection> {
        match self.member(key)? {
            JsonNode::Object(object) => Ok(object),
            _ => Err(Rejection::form(key, "an object")),
        }
    }

    /// Refuses members that are not in `known`.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Rejection> {
        match self.iter().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) => Err(Rejection::unsigned(name)),
            None => Ok(()),
        }
    }
}

impl JsonNode<'_> {
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a value at `depth`. Serde's errors carry only text, so ours go through `failure`.
#[derive(Clone, Copy)]
struct Nodes<'f> {
    depth: usize,
    failure: &'f Cell<Option<Rejection>>,
    except: Option<Except<'f>>,
    /// Set by a number that is not [`JsonNode::Integer`]: serde has rounded it.
    other: &'f Cell<bool>,
    /// Reads each value separately, which is slower but preserves how numbers were written.
    exact: bool,
}

/// A value to skip, and the path to it.
#[derive(Clone, Copy)]
struct Except<'f> {
    path: &'f [&'f str],
    known: &'f dyn Fn(&str) -> bool,
}

impl<'f> Nodes<'f> {
    fn fail<E: Error>(self, rejection: Rejection) -> E {
        self.failure.set(Some(rejection));
        E::custom("refused")
    }

    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(self.fail(Rejection::TooComplex));
        }
        Ok(Self { depth: self.depth + 1, except: None, ..self })
    }

    /// Reads a value of a list or object separately.
    fn exactly<E: Error>(self, raw: &RawValue) -> Result<JsonNode<'_>, E> {
        let text = raw.get();
        if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Ok(text.parse().map_or(JsonNode::Number(text), JsonNode::Integer));
        }
        self.deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(E::custom)
    }

    /// A number that serde has rounded.
    fn rounded<'a>(self) -> JsonNode<'a> {
        self.other.set(true);
        JsonNode::Null
    }

    /// The part of the member `key` to skip.
    fn except_within(self, key: &str) -> Option<Except<'f>> {
        let Except { path, known } = self.except?;
        let (first, path) = path.split_first()?;
        (*first == key).then_some(Except { path, known })
    }
}

impl<'a> DeserializeSeed<'a> for Nodes<'_> {
    type Value = JsonNode<'a>;

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<JsonNode<'a>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Nodes<'_> {
    type Value = JsonNode<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<JsonNode<'a>, E> {
        Ok(JsonNode::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonNode<'a>, E> {
        Ok(JsonNode::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<JsonNode<'a>, E> {
        Ok(JsonNode::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<JsonNode<'a>, E> {
        Ok(i64::try_from(value).map_or_else(|_| self.rounded(), JsonNode::Integer))
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonNode<'a>, E> {
        Ok(self.rounded())
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<JsonNode<'a>, E> {
        Ok(JsonNode::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonNode<'a>, E> {
        Ok(JsonNode::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<JsonNode<'a>, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while inner.exact
            && let Some(item) = items.next_element()?
        {
            list.push(inner.exactly(item)?);
        }
        while !inner.exact
            && let Some(item) = items.next_element_seed(inner)?
        {
            list.push(item);
        }
        Ok(JsonNode::List(list))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<JsonNode<'a>, A::Error> {
        let inner = self.deeper()?;
        let mut object: Vec<(Cow<'a, str>, JsonNode<'a>)> = Vec::with_capacity(2);
        while let Some(JsonKey(key)) = members.next_key()? {
            if object.len() == MAX_MEMBERS {
                return Err(self.fail(Rejection::TooComplex));
            }
            if object.iter().any(|(other, _)| *other == key) {
                return Err(self.fail(Rejection::DuplicateKey { key: shortened(&key) }));
            }
            let value = match self.except_within(&key) {
                Some(Except { path: [], known }) => unread(members.next_value()?, known)?,
                _ if inner.exact => inner.exactly(members.next_value()?)?,
                except => members.next_value_seed(Nodes { except, ..inner })?,
            };
            object.push((key, value));
        }
        Ok(JsonNode::Object(Object(object)))
    }
}

fn unread<E: Error>(raw: &RawValue, known: impl Fn(&str) -> bool) -> Result<JsonNode<'_>, E> {
    if known(raw.get()) { Ok(JsonNode::Unread(raw.get())) } else { Err(E::custom("not known")) }
}

/// A key, borrowed unless it has escapes. A plain `Cow` always copies.
#[derive(serde::Deserialize)]
struct JsonKey<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> &'static str {
        parse(text).map_or_else(|rejection| rejection.code(), |_| "fine")
    }

    #[test]
    fn values_are_read_and_texts_borrowed() {
        let object = parse(r#" {"a":"x","b":[1,-1,true,null],"c":{"d\u0065":"\n"},"e":1.5} "#).unwrap();
        assert!(matches!(object.get("a"), Some(JsonNode::Text(Cow::Borrowed("x")))));
        assert!(matches!(
            object.list("b").unwrap(),
            [JsonNode::Integer(1), JsonNode::Integer(-1), JsonNode::Bool(true), JsonNode::Null]
        ));
        assert_eq!(object.object("c").unwrap().text("de").unwrap(), "\n");
        assert!(matches!(object.get("e"), Some(JsonNode::Number("1.5"))));
    }

    #[test]
    fn numbers_beyond_64_bits_keep_their_digits() {
        let large = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        let text =
            format!(r#"{{"a":[{large},{{"b":-{large},"c":7}}],"d":18446744073709551615,"e":"\n","f":-0}}"#);
        let object = parse(&text).unwrap();
        let [JsonNode::Number(first), JsonNode::Object(inner)] = object.list("a").unwrap() else { panic!() };
        assert_eq!(*first, large);
        assert!(matches!(inner.get("b"), Some(JsonNode::Number(text)) if text[1..] == *large));
        assert!(matches!(inner.get("c"), Some(JsonNode::Integer(7))));
        assert!(matches!(object.get("d"), Some(JsonNode::Number("18446744073709551615"))));
        assert_eq!(object.text("e").unwrap(), "\n");
        assert!(matches!(object.get("f"), Some(JsonNode::Integer(0))));
        // The bounds apply as well.
        assert_eq!(code(&format!(r#"{{"a":{large},"b":{{"c":1,"c":2}}}}"#)), "duplicate_key");
        let deep = format!(r#"{{"a":{large},"b":{}{}}}"#, "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(code(&deep), "too_complex");
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused_however_it_is_spelled() {
        assert_eq!(code(r#"{"a":1,"a":1}"#), "duplicate_key");
        assert_eq!(code(r#"{"a":1,"\u0061":2}"#), "duplicate_key");
        assert_eq!(code(r#"{"x":[{"a":1,"b":2,"a":3}]}"#), "duplicate_key");
    }

    #[test]
    fn what_is_not_one_object_is_malformed() {
        for text in ["", "{", "[]", "\"x\"", "{} {}", "{\"a\":\"\\ud800\"}", "{\"a\":1e999}", "nul"] {
            assert_eq!(code(text), "malformed_json", "{text}");
        }
        assert_eq!(parse("{\n  x").unwrap_err(), Rejection::MalformedJson { line: 2, column: 3 });
    }

    #[test]
    fn size_depth_and_members_are_bounded() {
        let nested =
            |levels: usize| format!("{}{{}}{}", "{\"a\":".repeat(levels - 1), "}".repeat(levels - 1));
        assert_eq!(code(&nested(MAX_DEPTH)), "fine");
        assert_eq!(code(&nested(MAX_DEPTH + 1)), "too_complex");
        assert_eq!(code(&format!("{{\"a\":{}", "[".repeat(60_000))), "too_complex");
        let wide = |members: usize| {
            let members: Vec<String> = (0..members).map(|i| format!("\"k{i}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert_eq!(code(&wide(MAX_MEMBERS)), "fine");
        assert_eq!(code(&wide(MAX_MEMBERS + 1)), "too_complex");
        assert_eq!(code(&format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BYTES))), "too_large");
    }
}
