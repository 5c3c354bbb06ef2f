//! A check of values under the schemas of the API description. It knows every keyword that they use.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pyxis_core::clock::UnixMillis;
use serde_json::{Map, Value, json};

use super::resolved;

/// Keywords that restrict values.
const CHECKED: [&str; 28] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contentEncoding",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "type",
    "uniqueItems",
];
/// Keywords for readers, which restrict nothing.
const ANNOTATIONS: [&str; 10] = [
    "default",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "nullable",
    "readOnly",
    "title",
    "writeOnly",
];
const UUID: &str = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$";
const DATE_TIME: &str =
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$";

/// The first fault of a value: its place and the keyword that it breaks. Panics at an unknown keyword.
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
        if schema == false {
            return Some(format!("{place}: no value is allowed"));
        }
        refuse_unknown_keywords(place, schema);
        let target = schema.get("$ref").map(|_| resolved(self.document, schema));
        target
            .and_then(|target| self.fault(place, target, value))
            .or_else(|| {
                let keyword = plain_fault(schema, value).or_else(|| self.alternative_fault(schema, value));
                keyword.map(|keyword| format!("{place}: {keyword}"))
            })
            .or_else(|| self.member_fault(place, schema, value))
    }

    /// `allOf`, or a choice of which no alternative fits.
    fn alternative_fault(self, schema: &Value, value: &Value) -> Option<&'static str> {
        let part_check = Self { knows_all: false, ..self };
        let mut parts = schema["allOf"].as_array().into_iter().flatten();
        if parts.any(|part| part_check.fault("", part, value).is_some()) {
            return Some("allOf");
        }
        let fitting = |word: &str| {
            let fits = |part: &&Value| self.fault("", part, value).is_none();
            schema[word].as_array().map(|choice| choice.iter().filter(fits).count())
        };
        match (fitting("oneOf"), fitting("anyOf")) {
            (Some(0), _) | (_, Some(0)) => Some("no alternative fits"),
            (Some(2..), _) => Some("several alternatives fit"),
            _ => None,
        }
    }

    /// The first fault of a member or an item.
    fn member_fault(self, place: &str, schema: &Value, value: &Value) -> Option<String> {
        match value {
            Value::Object(members) => self.object_fault(place, schema, members),
            Value::Array(items) => {
                let inner = Self { knows_all: true, ..self };
                let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
                items.iter().enumerate().find_map(|(index, item)| {
                    let part = first.get(index).or_else(|| schema.get("items"))?;
                    inner.fault(&format!("{place}[{index}]"), part, item)
                })
            }
            _ => None,
        }
    }

    fn object_fault(self, place: &str, schema: &Value, members: &Map<String, Value>) -> Option<String> {
        let inner = Self { knows_all: true, ..self };
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let mut missing = required.filter(|name| !members.contains_key(*name));
        if let Some(name) = missing.next() {
            return Some(format!("{place}.{name}: missing"));
        }
        let others = &schema["additionalProperties"];
        let refuses = others == false || self.knows_all && schema["properties"].is_object();
        members.iter().find_map(|(name, member)| {
            let place = format!("{place}.{name}");
            let names = schema.get("propertyNames");
            let name_fault = names.and_then(|names| inner.fault(&place, names, &json!(name)));
            name_fault.or_else(|| match schema["properties"].get(name) {
                Some(property) => inner.fault(&place, property, member),
                None if others.is_object() => inner.fault(&place, others, member),
                None if refuses => Some(format!("{place}: unknown")),
                None => None,
            })
        })
    }
}

/// Panics at a keyword that would restrict values unnoticed.
fn refuse_unknown_keywords(place: &str, schema: &Value) {
    for keyword in schema.as_object().into_iter().flat_map(Map::keys) {
        let is_known = CHECKED.contains(&keyword.as_str())
            || ANNOTATIONS.contains(&keyword.as_str())
            || keyword.starts_with("x-");
        assert!(is_known, "{place}: the check does not know the keyword {keyword}");
    }
}

/// The keyword about the value itself that it breaks.
fn plain_fault(schema: &Value, value: &Value) -> Option<&'static str> {
    let kinds = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    let words = schema["enum"].as_array();
    let (least, most, size) = match value {
        Value::String(text) => ("minLength", "maxLength", Some(text.chars().count())),
        Value::Array(items) => ("minItems", "maxItems", Some(items.len())),
        Value::Object(members) => ("minProperties", "maxProperties", Some(members.len())),
        _ => ("", "", None),
    };
    let bound = |word: &str| schema[word].as_u64().and_then(|bound| usize::try_from(bound).ok());
    let broken = [
        ("type", schema.get("type").is_some() && !kinds.iter().any(|kind| is_of(kind, value))),
        ("enum", words.is_some_and(|words| !words.contains(value))),
        ("const", schema.get("const").is_some_and(|constant| constant != value)),
        ("a minimal size", bound(least).zip(size).is_some_and(|(bound, size)| size < bound)),
        ("a maximal size", bound(most).zip(size).is_some_and(|(bound, size)| size > bound)),
        ("uniqueItems", schema["uniqueItems"] == true && repeats_an_item(value)),
    ];
    let broken = broken.into_iter().find(|(_, is_broken)| *is_broken).map(|(keyword, _)| keyword);
    broken.or_else(|| text_fault(schema, value.as_str()?)).or_else(|| number_fault(schema, value.as_f64()?))
}

fn text_fault(schema: &Value, text: &str) -> Option<&'static str> {
    let breaks_pattern = schema["pattern"].as_str().is_some_and(|pattern| !matches(pattern, text));
    let breaks_format = schema["format"].as_str().is_some_and(|format| !has_format(format, text));
    let breaks_encoding = schema["contentEncoding"].as_str().is_some_and(|encoding| {
        assert_eq!(encoding, "base64", "the check knows no other encoding");
        STANDARD.decode(text).is_err()
    });
    let broken =
        [("pattern", breaks_pattern), ("format", breaks_format), ("contentEncoding", breaks_encoding)];
    broken.into_iter().find(|(_, is_broken)| *is_broken).map(|(keyword, _)| keyword)
}

fn number_fault(schema: &Value, number: f64) -> Option<&'static str> {
    let breaks = |keyword: &str, is_broken: fn(f64, f64) -> bool| {
        schema[keyword].as_f64().is_some_and(|bound| is_broken(bound, number))
    };
    let broken = [
        ("minimum", breaks("minimum", |bound, number| number < bound)),
        ("maximum", breaks("maximum", |bound, number| number > bound)),
        ("exclusiveMinimum", breaks("exclusiveMinimum", |bound, number| number <= bound)),
        ("exclusiveMaximum", breaks("exclusiveMaximum", |bound, number| number >= bound)),
        ("multipleOf", breaks("multipleOf", |step, number| (number / step).fract().abs() > f64::EPSILON)),
    ];
    broken.into_iter().find(|(_, is_broken)| *is_broken).map(|(keyword, _)| keyword)
}

fn matches(pattern: &str, text: &str) -> bool {
    regex_lite::Regex::new(pattern).expect("a pattern").is_match(text)
}

fn has_format(format: &str, text: &str) -> bool {
    match format {
        "uuid" => matches(UUID, text),
        "date-time" => matches(DATE_TIME, text) && UnixMillis::parse_rfc3339(text).is_some(),
        "uri" => url::Url::parse(text).is_ok(),
        // A form hides it as it is typed; any text is one.
        "password" => true,
        other => panic!("the check does not know the format {other}"),
    }
}

fn repeats_an_item(value: &Value) -> bool {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    items.iter().map(Value::to_string).collect::<BTreeSet<_>>().len() < items.len()
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

#[test]
fn a_value_that_breaks_a_keyword_has_a_fault() {
    let uuid = json!("019c1234-5678-7abc-8def-0123456789ab");
    let cases = [
        (json!({"format": "uuid"}), uuid, json!("019c1234")),
        (json!({"format": "date-time"}), json!("2026-01-31T09:05:00.250Z"), json!("2026-01-31 09:05")),
        (json!({"format": "date-time"}), json!("2026-01-31T09:05:00+00:00"), json!("2026-02-30T09:05:00Z")),
        (json!({"format": "uri"}), json!("https://pyxis.example.org/"), json!("/approve")),
        (json!({"contentEncoding": "base64"}), json!("cHg="), json!("p x")),
        (json!({"exclusiveMinimum": 0}), json!(1), json!(0)),
        (json!({"exclusiveMaximum": 5}), json!(4), json!(5)),
        (json!({"multipleOf": 5}), json!(10), json!(11)),
        (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1])),
        (json!({"minProperties": 1}), json!({"name": 1}), json!({})),
        (json!({"propertyNames": {"maxLength": 4}}), json!({"name": 1}), json!({"names": 1})),
        (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a"]), json!(["a", "b"])),
        (json!({"prefixItems": [{"type": "string"}]}), json!(["a", 1]), json!([1])),
        (json!({"oneOf": [{"type": "string"}, {"maximum": 5}]}), json!(3), json!("a")),
        (json!({"anyOf": [{"type": "string"}, {"maximum": 5}]}), json!("a"), json!(6)),
    ];
    for (schema, good, bad) in cases {
        assert_eq!(fault(&Value::Null, &schema, &good), None, "{schema}");
        assert!(fault(&Value::Null, &schema, &bad).is_some(), "{schema}");
    }
}

#[test]
#[should_panic(expected = "the check does not know the keyword unevaluatedProperties")]
fn a_keyword_that_the_check_does_not_know_is_no_silent_pass() {
    let _ = fault(&Value::Null, &json!({"unevaluatedProperties": false}), &json!({}));
}

#[test]
#[should_panic(expected = "the check does not know the format hostname")]
fn a_format_that_the_check_does_not_know_is_no_silent_pass() {
    let _ = fault(&Value::Null, &json!({"format": "hostname"}), &json!("a"));
}
