//! Schemas in words: one line of type and bounds, and a row for each member.

use serde_json::Value;

use super::search_terms::{Piece, SearchTerms, parse_terms};
use super::{entries, list, text};

/// A parameter, a header or a member of a body.
pub(super) struct SchemaField {
    pub(super) name: String,
    /// Location of a parameter; empty for members and headers.
    pub(super) place: String,
    pub(super) required: bool,
    pub(super) kind: SearchTerms,
    pub(super) description: SearchTerms,
}

impl SchemaField {
    pub(super) fn parameter(document: &Value, parameter: &Value) -> Self {
        Self {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            required: parameter["required"] == true,
            kind: kind(document, &parameter["schema"]),
            description: parse_terms(&parameter["description"]),
        }
    }

    pub(super) fn header(document: &Value, name: &str, header: &Value) -> Self {
        Self {
            name: name.to_owned(),
            place: String::new(),
            required: false,
            kind: kind(document, &header["schema"]),
            description: parse_terms(&header["description"]),
        }
    }

    fn member(document: &Value, name: &str, schema: &Value, required: bool) -> Self {
        let own = parse_terms(&schema["description"]);
        let inherited = || parse_terms(&resolve(document, schema)["description"]);
        Self {
            name: name.to_owned(),
            place: String::new(),
            required,
            kind: kind(document, schema),
            description: if own.is_empty() && !linked(document, schema) { inherited() } else { own },
        }
    }
}

/// Follows a reference within the document. Anything else is returned as it is.
pub(super) fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// True if a named schema has its own section on the page; otherwise it is described where it is used.
pub(super) fn has_own_section(schema: &Value) -> bool {
    ["properties", "oneOf", "allOf"].iter().any(|member| schema.get(member).is_some())
}

fn linked(document: &Value, schema: &Value) -> bool {
    schema.get("$ref").is_some() && has_own_section(resolve(document, schema))
}

/// The members of an object, required ones first and in their order. For alternatives, each of them.
pub(super) fn fields(document: &Value, schema: &Value) -> Vec<SchemaField> {
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().flat_map(|part| fields(document, resolve(document, part))).collect();
    }
    if schema.get("properties").is_none() {
        let alternatives = list(&schema["oneOf"]).filter(|one| one.get("title").is_some());
        return alternatives
            .map(|one| SchemaField::member(document, &text(&one["title"]), one, false))
            .collect();
    }
    let required: Vec<&str> = list(&schema["required"]).filter_map(Value::as_str).collect();
    let optional =
        entries(&schema["properties"]).map(|(name, _)| name.as_str()).filter(|name| !required.contains(name));
    let names = required.iter().map(|name| (*name, true)).chain(optional.map(|name| (name, false)));
    names
        .map(|(name, required)| SchemaField::member(document, name, &schema["properties"][name], required))
        .collect()
}

/// Type, bounds and default in one line.
pub(super) fn kind(document: &Value, schema: &Value) -> SearchTerms {
    let mut said = SearchTerms::default();
    if linked(document, schema) {
        let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        said.0.push(Piece::Schema(name.unwrap_or_default().to_owned()));
    } else {
        let plain = resolve(document, schema);
        say_type(document, plain, &mut said);
        say_bounds(plain, &mut said);
    }
    if let Some(default) = schema.get("default") {
        said.push_text(", default ");
        said.push_code(literal(default));
    }
    said
}

fn say_type(document: &Value, schema: &Value, said: &mut SearchTerms) {
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|word| schema[word].as_array());
    if let Some(alternatives) = alternatives {
        for (position, one) in alternatives.iter().enumerate() {
            if position > 0 {
                said.push_text(" or ");
            }
            said.0.extend(kind(document, one).0);
        }
    } else if let Some(value) = schema.get("const") {
        said.push_code(literal(value));
    } else if let Some(values) = schema["enum"].as_array() {
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                said.push_text(" ");
            }
            said.push_code(literal(value));
        }
    } else if schema["type"] == "array" {
        said.push_text("list of ");
        said.0.extend(kind(document, &schema["items"]).0);
    } else {
        said.push_text(type_name(schema));
        if !has_own_section(schema) {
            return;
        }
        let members: Vec<&str> = entries(&schema["properties"]).map(|(name, _)| name.as_str()).collect();
        said.push_text(" with ");
        said.push_code(members.join(", "));
    }
}

/// A text without its quotes, anything else as in JSON.
fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn type_name(schema: &Value) -> String {
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let format = match schema["format"].as_str() {
        Some("date-time") => " (time)",
        Some("uuid") => " (UUID)",
        Some("uri") => " (URL)",
        _ => "",
    };
    match types.split_first() {
        None => "anything".to_owned(),
        Some((first, others)) => {
            others.iter().fold(format!("{first}{format}"), |said, other| format!("{said} or {other}"))
        }
    }
}

fn say_bounds(schema: &Value, said: &mut SearchTerms) {
    let length = if schema["type"] == "array" { "items" } else { "characters" };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(min), Some(max)) => said.push_text(format!(", {min} to {max}")),
        (Some(min), None) => said.push_text(format!(", at least {min}")),
        (None, Some(max)) => said.push_text(format!(", at most {max}")),
        (None, None) => {}
    }
    if let Some(max) = schema
        .get("maxLength")
        .or_else(|| schema.get("maxItems"))
        .filter(|_| schema["minItems"] != schema["maxItems"] || schema.get("maxLength").is_some())
    {
        said.push_text(format!(", at most {max} {length}"));
    }
}
