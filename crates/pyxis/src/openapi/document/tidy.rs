//! Small corrections to what the derives write.

use serde_json::{Map, Value};

/// Corrects a derived description throughout.
pub(super) fn tidy(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(tidy);
            unwrap_lines(members);
            drop_width(members);
            allow_no_body(members);
            never_null(members);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Doc comments are wrapped: joins the lines of each paragraph. A summary ends without a period.
fn unwrap_lines(members: &mut Map<String, Value>) {
    for name in ["summary", "description"] {
        let Some(Value::String(text)) = members.get_mut(name) else { continue };
        let paragraphs: Vec<String> = text.split("\n\n").map(|part| part.trim().replace('\n', " ")).collect();
        *text = paragraphs.join("\n\n");
        if name == "summary" {
            text.truncate(text.trim_end_matches('.').len());
        }
    }
}

/// The width of a Rust integer is no promise to clients, and `int32` would be wrong for unsigned ones.
fn drop_width(members: &mut Map<String, Value>) {
    if members.get("format").is_some_and(|format| format == "int32" || format == "int64") {
        members.remove("format");
    }
}

/// A parameter that is left out is absent: it is never `null`.
fn never_null(members: &mut Map<String, Value>) {
    if !members.contains_key("in") {
        return;
    }
    let Some(schema) = members.get_mut("schema") else { return };
    if let [one, Value::String(null)] = &schema["type"].as_array().cloned().unwrap_or_default()[..]
        && null == "null"
    {
        schema["type"] = one.clone();
    }
    let alternatives = schema["oneOf"].as_array().cloned().unwrap_or_default();
    if let [one, null] = &alternatives[..]
        && null["type"] == "null"
    {
        *schema = one.clone();
    }
}

/// `Option<T>` as a body means that it may be left out, not that it may be `null`.
fn allow_no_body(members: &mut Map<String, Value>) {
    let Some(Value::Object(body)) = members.get_mut("requestBody") else { return };
    for content in
        body.get_mut("content").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
    {
        let alternatives = content["schema"]["oneOf"].as_array().cloned().unwrap_or_default();
        if let [one, null] = &alternatives[..]
            && null["type"] == "null"
        {
            content["schema"] = one.clone();
        }
    }
}
