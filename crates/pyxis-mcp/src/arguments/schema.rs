//! The first argument that does not fit the schema of its tool.

use pyxis_core::nearest;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::ArgumentError;
use crate::tools;

/// The first argument that does not fit. `None` if all fit, or if no tool has this name.
pub(super) fn fault(tool: &str, arguments: &JsonObject) -> Option<ArgumentError> {
    let schema = &tools::ALL.iter().find(|known| known.name == tool)?.input_schema;
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut missing =
        required.filter_map(Value::as_str).filter(|name| arguments.get(*name).is_none_or(Value::is_null));
    if let Some(name) = missing.next() {
        let kind = properties.get(name).map(in_words).unwrap_or_default();
        return Some(ArgumentError::new(name, format!("is missing; give {kind}")));
    }
    arguments.iter().find_map(|(name, value)| match properties.get(name) {
        Some(property) => value_fault(name, property, value),
        None => Some(unknown(name, properties)),
    })
}

fn unknown(name: &str, properties: &JsonObject) -> ArgumentError {
    let known = || properties.keys().map(String::as_str);
    let list: Vec<&str> = known().collect();
    let list = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    let suggestion = nearest::suggestion(name, known());
    let name: String = name.chars().take(100).collect();
    ArgumentError::new(name, format!("is not an argument of this tool{suggestion}; known: {list}"))
}

/// The fault of a value, or of a member of it. Null stands for a value that is left out.
fn value_fault(name: &str, property: &Value, value: &Value) -> Option<ArgumentError> {
    if !value.is_null() && !kinds(property).any(|kind| kind == kind_of(value)) {
        return Some(ArgumentError::new(name, format!("must be {}", in_words(property))));
    }
    let members = property.get("additionalProperties").filter(|kind| kind.is_object())?;
    let mut wrong =
        value.as_object()?.iter().filter(|(_, value)| !kinds(members).any(|k| k == kind_of(value)));
    let (member, _) = wrong.next()?;
    Some(ArgumentError::new(format!("{name}.{member}"), format!("must be {}", in_words(members))))
}

/// Names of the types that a value may have.
fn kinds(property: &Value) -> impl Iterator<Item = &str> {
    let one = property["type"].as_str();
    one.into_iter().chain(property["type"].as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The types of a value: `a string, object or array`.
fn in_words(property: &Value) -> String {
    let kinds: Vec<&str> = kinds(property).collect();
    let article =
        if kinds.first().is_some_and(|kind| kind.starts_with(['a', 'i', 'o'])) { "an" } else { "a" };
    match kinds.split_last() {
        Some((last, [])) => format!("{article} {last}"),
        Some((last, first)) => format!("{article} {} or {last}", first.join(", ")),
        None => "a value".to_owned(),
    }
}
