//! A check of values under the schemas of the API description, with the keywords that it uses.

use serde_json::Value;

use super::resolved;

/// The first fault of a value: its place and the keyword that it breaks.
pub(super) fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    Check { document, knows_all: true }.fault("", schema, value)
}

/// A check of a value under a schema.
#[derive(Clone, Copy)]
struct Check<'a> {
    document: &'a Value,
    /// True unless the schema is a part of an `allOf`, whose other parts name further members.
    knows_all: bool,
}

impl Check<'_> {
    fn fault(self, place: &str, schema: &Value, value: &Value) -> Option<String> {
        if schema.get("$ref").is_some() {
            return self.fault(place, resolved(self.document, schema), value);
        }
        let keyword = plain_fault(schema, value).or_else(|| self.alternative_fault(schema, value));
        keyword
            .map(|keyword| format!("{place}: {keyword}"))
            .or_else(|| self.member_fault(place, schema, value))
    }

    /// `allOf`, or a choice of which no alternative fits.
    fn alternative_fault(self, schema: &Value, value: &Value) -> Option<&'static str> {
        let part_check = Self { knows_all: false, ..self };
        let mut parts = schema["allOf"].as_array().into_iter().flatten();
        if parts.any(|part| part_check.fault("", part, value).is_some()) {
            return Some("allOf");
        }
        let mut choices = ["oneOf", "anyOf"].iter().filter_map(|word| schema[word].as_array());
        let fits = |part: &Value| self.fault("", part, value).is_none();
        choices.any(|choice| !choice.iter().any(fits)).then_some("no alternative fits")
    }

    /// The first fault of a member or an item.
    fn member_fault(self, place: &str, schema: &Value, value: &Value) -> Option<String> {
        let inner = Self { knows_all: true, ..self };
        match value {
            Value::Object(members) => {
                let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let mut missing = required.filter(|name| !members.contains_key(*name));
                if let Some(name) = missing.next() {
                    return Some(format!("{place}.{name}: missing"));
                }
                let others = &schema["additionalProperties"];
                let refuses = others == false || self.knows_all && schema["properties"].is_object();
                members.iter().find_map(|(name, member)| {
                    let place = format!("{place}.{name}");
                    match schema["properties"].get(name) {
                        Some(property) => inner.fault(&place, property, member),
                        None if others.is_object() => inner.fault(&place, others, member),
                        None if refuses => Some(format!("{place}: unknown")),
                        None => None,
                    }
                })
            }
            Value::Array(items) if schema["items"].is_object() => items
                .iter()
                .enumerate()
                .find_map(|(index, item)| inner.fault(&format!("{place}[{index}]"), &schema["items"], item)),
            _ => None,
        }
    }
}

/// The keyword about the value itself that it breaks.
fn plain_fault(schema: &Value, value: &Value) -> Option<&'static str> {
    let kinds = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let words = schema["enum"].as_array();
    let size = match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(items) => Some(items.len()),
        _ => None,
    };
    let (least, most) = if value.is_array() { ("minItems", "maxItems") } else { ("minLength", "maxLength") };
    let bound = |word: &str| schema[word].as_u64().and_then(|bound| usize::try_from(bound).ok());
    let pattern =
        schema["pattern"].as_str().map(|pattern| regex_lite::Regex::new(pattern).expect("a pattern"));
    let broken = [
        ("type", schema.get("type").is_some() && !kinds.iter().any(|kind| is_of(kind, value))),
        ("enum", words.is_some_and(|words| !words.contains(value))),
        ("const", schema.get("const").is_some_and(|constant| constant != value)),
        ("pattern", pattern.zip(value.as_str()).is_some_and(|(pattern, text)| !pattern.is_match(text))),
        ("a minimal size", bound(least).zip(size).is_some_and(|(bound, size)| size < bound)),
        ("a maximal size", bound(most).zip(size).is_some_and(|(bound, size)| size > bound)),
        ("minimum", pair(&schema["minimum"], value).is_some_and(|(bound, number)| number < bound)),
        ("maximum", pair(&schema["maximum"], value).is_some_and(|(bound, number)| number > bound)),
    ];
    broken.into_iter().find(|(_, is_broken)| *is_broken).map(|(keyword, _)| keyword)
}

fn pair(bound: &Value, value: &Value) -> Option<(f64, f64)> {
    bound.as_f64().zip(value.as_f64())
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type of JSON: {other}"),
    }
}
