//! Examples of the API description: each answer and each body has one, and each obeys its schema.

use serde_json::Value;

use super::schema::fault;
use super::{api_document, operations, resolved};

/// Members that hold values, not schemas.
const VALUES: [&str; 5] = ["example", "examples", "default", "enum", "const"];

/// Visits every object of the description that may have an example.
fn walk_schemas<'a>(value: &'a Value, visit: &mut impl FnMut(&'a Value)) {
    match value {
        Value::Object(members) => {
            visit(value);
            for (name, member) in members {
                if name == "properties" {
                    // A property may be named like a keyword.
                    member
                        .as_object()
                        .into_iter()
                        .flatten()
                        .for_each(|(_, schema)| walk_schemas(schema, visit));
                } else if !VALUES.contains(&name.as_str()) {
                    walk_schemas(member, visit);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk_schemas(item, visit)),
        _ => {}
    }
}

/// The examples of a schema, or of a parameter or a body with one.
fn examples(holder: &Value) -> impl Iterator<Item = &Value> {
    let listed = holder["examples"].as_array().into_iter().flatten();
    let named = holder["examples"].as_object().into_iter().flatten().map(|(_, one)| &one["value"]);
    holder.get("example").into_iter().chain(listed).chain(named)
}

#[test]
fn every_example_obeys_its_schema() {
    let document = api_document();
    let mut faults = Vec::new();
    let mut count = 0;
    walk_schemas(&document, &mut |holder| {
        let schema = holder.get("schema").unwrap_or(holder);
        for example in examples(holder) {
            count += 1;
            faults.extend(fault(&document, schema, example).map(|fault| format!("{fault} in {example}")));
        }
    });
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(count > 500, "{count}");
}

/// Members that a reader of the schema sees no value of, as paths. Words of a list, truth values and defaults show
/// themselves.
fn unshown<'a>(document: &'a Value, schema: &'a Value, place: &str, seen: &[&'a str]) -> Vec<String> {
    let shows_itself = ["enum", "const", "default"].iter().any(|word| schema.get(word).is_some());
    let kinds = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    if shows_itself
        || examples(schema).next().is_some()
        || kinds.iter().all(|kind| kind == "boolean" || kind == "null")
    {
        return Vec::new();
    }
    if let Some(reference) = schema["$ref"].as_str() {
        if seen.contains(&reference) {
            return Vec::new();
        }
        let name = reference.rsplit('/').next().unwrap_or_default();
        return unshown(document, resolved(document, schema), name, &[seen, &[reference]].concat());
    }
    let alternatives =
        ["allOf", "oneOf", "anyOf"].iter().filter_map(|word| schema[word].as_array()).flatten();
    let mut parts: Vec<(String, &Value)> = alternatives.map(|part| (place.to_owned(), part)).collect();
    parts.extend(schema["items"].is_object().then(|| (format!("{place}[]"), &schema["items"])));
    let others = &schema["additionalProperties"];
    parts.extend(others.is_object().then(|| (format!("{place}{{}}"), others)));
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        if required.iter().any(|one| one == name.as_str()) {
            parts.push((format!("{place}.{name}"), property));
        }
    }
    // An object whose members may all be left out shows one of them.
    let shows_a_member = || {
        let mut members = properties.into_iter().flatten();
        members.any(|(_, member)| unshown(document, member, place, seen).is_empty())
    };
    if parts.is_empty() && !shows_a_member() {
        return vec![place.to_owned()];
    }
    parts.into_iter().flat_map(|(place, part)| unshown(document, part, &place, seen)).collect()
}

#[test]
fn every_json_answer_and_every_json_body_has_an_example() {
    let document = api_document();
    let mut bare = Vec::new();
    let mut count = 0;
    for ((method, path), operation, _) in operations(&document) {
        let answers = operation["responses"].as_object().into_iter().flatten();
        let answers = answers.filter(|(status, _)| status.starts_with('2'));
        let body = operation.get("requestBody").map(|body| ("body", body));
        for (name, holder) in answers.map(|(status, answer)| (status.as_str(), answer)).chain(body) {
            for (kind, content) in resolved(&document, holder)["content"].as_object().into_iter().flatten() {
                if !kind.contains("json") {
                    continue;
                }
                count += 1;
                if examples(content).next().is_none() {
                    let place = format!("{method} {path} {name}");
                    bare.extend(unshown(&document, &content["schema"], &place, &[]));
                }
            }
        }
    }
    bare.sort();
    bare.dedup();
    assert!(bare.is_empty(), "{bare:#?}");
    assert!(count > 240, "{count}");
}
