//! JSON bodies, read so that no other reader can see another value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::value::FieldValue;
use super::{RequestContent, Unreadable, form};

/// Most values that one pointer with `*` reaches.
const MAX_VALUES: usize = 1000;

/// A JSON document that keeps every member, also repeated ones.
#[derive(Clone, Debug)]
pub(super) enum JsonNode {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    List(Vec<JsonNode>),
    /// Members, sorted by their folded names.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(super) struct Member {
    name: String,
    /// The name as [`form::folded`], by which it is found.
    folded: String,
    node: JsonNode,
}

/// The document in the body of a request that says it is JSON.
pub(super) fn document(content: &RequestContent<'_>) -> Result<JsonNode, Unreadable> {
    let media = content.media_type()?;
    if media != "application/json" && !media.ends_with("+json") {
        return Err(Unreadable("the Content-Type is not JSON"));
    }
    serde_json::from_slice(content.readable()?).map_err(|_| Unreadable("the body is not valid JSON"))
}

/// The values that a pointer reaches.
pub(super) fn values(document: &JsonNode, pointer: &[String]) -> Result<Vec<FieldValue>, Unreadable> {
    let mut found = Vec::new();
    collect_values(document, pointer, &mut found)?;
    Ok(found)
}

fn collect_values(
    node: &JsonNode,
    pointer: &[String],
    found: &mut Vec<FieldValue>,
) -> Result<(), Unreadable> {
    let Some((name, rest)) = pointer.split_first() else {
        let value = match node {
            JsonNode::Scalar(value) => value.clone(),
            JsonNode::List(_) => Value::Array(Vec::new()),
            JsonNode::Object(_) => Value::Object(serde_json::Map::new()),
        };
        if found.len() == MAX_VALUES {
            return Err(Unreadable("it has more than 1,000 values"));
        }
        found.push(FieldValue::Json(value));
        return Ok(());
    };
    match node {
        JsonNode::Object(_) => match node.member(name)? {
            Some(member) => collect_values(member, rest, found),
            None => Err(Unreadable("it is missing")),
        },
        JsonNode::List(entries) if name == "*" && entries.is_empty() => Err(Unreadable("the list is empty")),
        JsonNode::List(entries) if name == "*" => {
            entries.iter().try_for_each(|entry| collect_values(entry, rest, found))
        }
        JsonNode::List(entries) => {
            let entry = index(name).and_then(|index| entries.get(index));
            collect_values(entry.ok_or(Unreadable("it is missing"))?, rest, found)
        }
        JsonNode::Scalar(_) => Err(Unreadable("it is missing")),
    }
}

/// RFC 6901, section 4: no leading zeros.
fn index(name: &str) -> Option<usize> {
    (name == "0" || !name.starts_with('0')).then(|| name.parse().ok())?
}

impl JsonNode {
    /// An object with these members.
    pub(super) fn object(members: impl IntoIterator<Item = (String, Self)>) -> Self {
        let member = |(name, node): (String, Self)| Member { folded: form::folded(&name), name, node };
        let mut members: Vec<_> = members.into_iter().map(member).collect();
        members.sort_by(|one, other| one.folded.cmp(&other.folded));
        Self::Object(members)
    }

    /// The member of an object with this name. Readers differ on which of two members of one name counts, and some
    /// ignore case.
    pub(super) fn member(&self, name: &str) -> Result<Option<&Self>, Unreadable> {
        let Self::Object(members) = self else { return Err(Unreadable("the body is not an object")) };
        let wanted = form::folded(name);
        let first = members.partition_point(|member| member.folded < wanted);
        let mut alike = members[first..].iter().take_while(|member| member.folded == wanted);
        match (alike.next(), alike.next()) {
            (None, _) => Ok(None),
            (Some(member), None) if member.name == name => Ok(Some(&member.node)),
            (Some(_), None) => Err(Unreadable("its name differs in upper and lower case")),
            (Some(_), Some(_)) => Err(Unreadable("it is given twice")),
        }
    }

    /// The names of an object's members.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let members = if let Self::Object(members) = self { members.as_slice() } else { &[] };
        members.iter().map(|member| member.name.as_str())
    }

    /// The text, if this is one.
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Scalar(Value::String(text)) = self { Some(text) } else { None }
    }
}

impl<'de> Deserialize<'de> for JsonNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = JsonNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonNode, E> {
        Ok(JsonNode::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<JsonNode, E> {
        Ok(JsonNode::Scalar(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<JsonNode, E> {
        Ok(JsonNode::Scalar(Value::Number(value.into())))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<JsonNode, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("not a finite number"))?;
        Ok(JsonNode::Scalar(Value::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<JsonNode, E> {
        Ok(JsonNode::Scalar(Value::String(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<JsonNode, E> {
        Ok(JsonNode::Scalar(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element()? {
            entries.push(entry);
        }
        Ok(JsonNode::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonNode, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(JsonNode::object(members))
    }
}
