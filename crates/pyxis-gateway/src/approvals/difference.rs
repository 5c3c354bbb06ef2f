//! Difference between the request of an agent and the one that people made of it.

use std::time::Duration;

use http::HeaderMap;
use pyxis_core::headers::is_sensitive;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;
use utoipa::ToSchema;

use crate::runtime::stored::StoredRequest;

/// Longest search for a short diff. After that a longer one is good enough.
const SEARCH: Duration = Duration::from_millis(200);
/// Lines around a change.
const CONTEXT: usize = 3;

/// Difference between two requests to the same URL path with the same method and credential.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RequestDifference {
    /// JSON Patch (RFC 6902) that makes the new body of the old one. Absent if one of them is not JSON, and if they are
    /// the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>, nullable = false)]
    body_patch: Option<Value>,
    /// Unified diff of two text bodies that are not both JSON, or that are the same as JSON. Absent if they are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    body_diff: Option<String>,
    /// Query parameters that differ.
    query: Vec<ValueChange>,
    /// Headers that differ. For a header whose name marks it as secret, only the length of each value is told.
    headers: Vec<ValueChange>,
}

/// Values of one query parameter or header, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ValueChange {
    /// Name.
    pub name: String,
    /// Values of the agent's request, in order; empty if it had none.
    pub before: Vec<String>,
    /// Values of the edited request, in order; empty if they were removed.
    pub after: Vec<String>,
}

impl RequestDifference {
    /// The difference between what an agent asked for and what became of it.
    pub(crate) fn between(asked: &StoredRequest, edited: &StoredRequest) -> Self {
        let (body_patch, body_diff) = body(&asked.body, &edited.body);
        Self {
            body_patch,
            body_diff,
            query: changes(&parameters(&asked.target), &parameters(&edited.target)),
            headers: changes(&values(&asked.headers), &values(&edited.headers)),
        }
    }

    /// Changed query parameters.
    pub fn query(&self) -> &[ValueChange] {
        &self.query
    }

    /// Changed headers.
    pub fn headers(&self) -> &[ValueChange] {
        &self.headers
    }

    /// Parts that differ, in words: `body, query`.
    pub fn parts(&self) -> Vec<&'static str> {
        let body = self.body_patch.is_some() || self.body_diff.is_some();
        let parts =
            [(body, "body"), (!self.query.is_empty(), "query"), (!self.headers.is_empty(), "headers")];
        parts.into_iter().filter_map(|(is_changed, name)| is_changed.then_some(name)).collect()
    }
}

/// Names and decoded values of the query of a URL.
pub(crate) fn parameters(target: &str) -> Vec<(String, String)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn values(headers: &HeaderMap) -> Vec<(String, String)> {
    let told = |name: &str, value: &[u8]| {
        if is_sensitive(name) {
            format!("… (length {})", value.len())
        } else {
            String::from_utf8_lossy(value).into_owned()
        }
    };
    headers.iter().map(|(name, value)| (name.to_string(), told(name.as_str(), value.as_bytes()))).collect()
}

fn changes(asked: &[(String, String)], edited: &[(String, String)]) -> Vec<ValueChange> {
    let of = |list: &[(String, String)], name: &str| -> Vec<String> {
        list.iter().filter(|(own, _)| own == name).map(|(_, value)| value.clone()).collect()
    };
    let mut changes: Vec<ValueChange> = Vec::new();
    for (name, _) in asked.iter().chain(edited) {
        let (before, after) = (of(asked, name), of(edited, name));
        if before != after && !changes.iter().any(|change| change.name == *name) {
            changes.push(ValueChange { name: name.clone(), before, after });
        }
    }
    changes
}

fn body(asked: &[u8], edited: &[u8]) -> (Option<Value>, Option<String>) {
    if asked == edited {
        return (None, None);
    }
    let read = |bytes| serde_json::from_slice::<Value>(bytes).ok();
    if let (Some(before), Some(after)) = (read(asked), read(edited))
        && before != after
    {
        let patch = serde_json::to_value(json_patch::diff(&before, &after));
        return (patch.ok(), None);
    }
    (None, Some(unified(&String::from_utf8_lossy(asked), &String::from_utf8_lossy(edited))))
}

fn unified(asked: &str, edited: &str) -> String {
    let diff = TextDiff::configure().timeout(SEARCH).diff_lines(asked, edited);
    diff.unified_diff().context_radius(CONTEXT).header("asked", "edited").to_string()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn request(query: &str, body: &str) -> StoredRequest {
        StoredRequest {
            target: format!("https://api.example.com/x{query}"),
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn a_json_body_differs_by_a_patch_and_any_other_by_lines() {
        let told = RequestDifference::between(
            &request("", r#"{"amount": 5000, "to": "a"}"#),
            &request("", r#"{"amount": 50, "to": "a"}"#),
        );
        let patch = json!([{"op": "replace", "path": "/amount", "value": 50}]);
        assert_eq!((told.body_patch, told.body_diff), (Some(patch), None));
        let told = RequestDifference::between(&request("", "one\ntwo\n"), &request("", "one\nthree\n"));
        let lines = "--- asked\n+++ edited\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
        assert_eq!((told.body_patch, told.body_diff.as_deref()), (None, Some(lines)));
        let told = RequestDifference::between(&request("", "{}"), &request("", "{ }"));
        assert!(told.body_patch.is_none() && told.body_diff.is_some(), "the spelling differs");
        assert_eq!(told.parts(), ["body"]);
    }

    #[test]
    fn parameters_and_headers_are_compared_by_name() {
        let (mut asked, mut edited) = (request("?a=1&b=2&b=3", ""), request("?b=2&c=%20", ""));
        asked.headers.insert("x-same", HeaderValue::from_static("1"));
        edited.headers.insert("x-same", HeaderValue::from_static("1"));
        edited.headers.insert("x-api-key", HeaderValue::from_static("four"));
        let told = RequestDifference::between(&asked, &edited);
        let change = |name: &str, before: &[&str], after: &[&str]| ValueChange {
            name: name.to_owned(),
            before: before.iter().map(|value| (*value).to_owned()).collect(),
            after: after.iter().map(|value| (*value).to_owned()).collect(),
        };
        let query = [change("a", &["1"], &[]), change("b", &["2", "3"], &["2"]), change("c", &[], &[" "])];
        assert_eq!(told.query(), query);
        assert_eq!(told.headers(), [change("x-api-key", &[], &["… (length 4)"])]);
        assert_eq!(told.parts(), ["query", "headers"]);
    }
}
