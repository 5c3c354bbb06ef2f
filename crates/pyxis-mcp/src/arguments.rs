//! Arguments of the tools. Errors are sentences for the agent.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

mod schema;

/// Arguments of `call`, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallArguments {
    credential: String,
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Value,
    reason: Option<String>,
}

/// An argument that a tool cannot take, and what it takes instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArgumentError {
    /// Name of the argument, with that of a member after a point.
    pub(crate) field: String,
    /// Rest of the sentence that begins with the name.
    pub(crate) detail: String,
}

impl ArgumentError {
    fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}

/// Arguments of `wait` and `withdraw`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransactionArguments {
    /// Transaction id.
    pub(crate) txn_id: String,
}

/// No arguments, as `services` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A request to send with a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) credential: String,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    pub(crate) reason: Option<String>,
    /// Tool of another MCP server.
    pub(crate) tool: Option<String>,
}

/// Reads the arguments of a tool.
pub(crate) fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Option<JsonObject>,
) -> Result<T, ArgumentError> {
    let arguments = arguments.unwrap_or_default();
    let fault = schema::fault(tool, &arguments);
    // The schema says more than the parser, which names no field. Parsing takes the arguments, so it is asked before.
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| fault.unwrap_or_else(|| ArgumentError::new("arguments", error.to_string())))
}

impl Call {
    /// Reads the arguments of `call`, or those of `explain`, which are the same.
    pub(crate) fn read(tool: &str, arguments: Option<JsonObject>) -> Result<Self, ArgumentError> {
        Self::check(read(tool, arguments)?)
    }

    /// Checks the arguments of `call`.
    pub(crate) fn check(arguments: CallArguments) -> Result<Self, ArgumentError> {
        let CallArguments { credential, method, url, mut headers, body, reason } = arguments;
        check_headers(&headers)?;
        let is_json = !body.is_string();
        let body = match body {
            Value::Null => Vec::new(),
            Value::String(text) => text.into_bytes(),
            json => json.to_string().into_bytes(),
        };
        let has_type = headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        if !has_type && !body.is_empty() && (is_json || is_json_container(&body)) {
            headers.insert("content-type".to_owned(), "application/json".to_owned());
        }
        for (name, value) in
            [("credential", Some(&credential)), ("url", Some(&url)), ("reason", reason.as_ref())]
        {
            if let Some(value) = value {
                check_text(name, value)?;
            }
        }
        let method = method.unwrap_or_else(|| "GET".to_owned());
        check_text("method", &method)?;
        Ok(Self { credential, method, url, headers, body, reason, tool: None })
    }

    /// The headers as they are sent. Names that differ only in case are one header with several values.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, http::Error> {
        let mut map = HeaderMap::with_capacity(self.headers.len());
        for (name, value) in &self.headers {
            map.append(HeaderName::try_from(name)?, HeaderValue::from_bytes(value.as_bytes())?);
        }
        Ok(map)
    }

    /// SHA-256 over everything that the call sends.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        let mut add = |part: &[u8]| {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        };
        for part in [&self.credential, &self.method, &self.url] {
            add(part.as_bytes());
        }
        for (name, value) in &self.headers {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        add(&self.body);
        hasher.finalize().into()
    }
}

/// Refuses headers that would be taken for those of the proxy, and what is no header at all.
fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), ArgumentError> {
    for (name, value) in headers {
        let field = || format!("headers.{}", name.escape_debug());
        let parsed = HeaderName::try_from(name).map_err(|_| {
            ArgumentError::new(field(), "is not a header name; use letters, digits and - as in Content-Type")
        })?;
        let is_control = parsed.as_str().starts_with("x-px-")
            || matches!(
                parsed.as_str(),
                "prefer" | "idempotency-key" | "content-length" | "transfer-encoding"
            );
        if is_control {
            return Err(ArgumentError::new(field(), "is set by Pyxis; leave it out"));
        }
        check_text(&field(), value)?;
    }
    Ok(())
}

/// Refuses text that no header can carry.
fn check_text(name: &str, value: &str) -> Result<(), ArgumentError> {
    HeaderValue::from_bytes(value.as_bytes()).map(drop).map_err(|_| {
        ArgumentError::new(name, "must not contain line breaks or other control characters; remove them")
    })
}

/// True for a JSON object or array.
fn is_json_container(body: &[u8]) -> bool {
    matches!(body.first(), Some(b'{' | b'[')) && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(arguments: &Value) -> Result<Call, ArgumentError> {
        Call::read("call", arguments.as_object().cloned())
    }

    #[test]
    fn a_body_of_json_is_sent_as_json_unless_the_agent_names_a_type() {
        let with = |body: Value, headers: Value| {
            call(&json!({"credential": "c", "url": "u", "body": body, "headers": headers})).unwrap()
        };
        let sent = with(json!({"a": 1}), json!({}));
        assert_eq!(
            (sent.body.as_slice(), sent.headers["content-type"].as_str()),
            (&b"{\"a\":1}"[..], "application/json")
        );
        assert_eq!(with(json!("[1]"), json!({})).headers["content-type"], "application/json");
        assert!(with(json!("a=1"), json!({})).headers.is_empty());
        assert_eq!(with(json!("{}"), json!({"Content-Type": "text/plain"})).headers.len(), 1);
        assert!(with(Value::Null, json!({})).body.is_empty());
    }

    #[test]
    fn an_argument_that_cannot_be_sent_is_named() {
        for (arguments, field, detail) in [
            (json!({"credential": "c"}), "url", "is missing; give a string"),
            (json!({}), "credential", "is missing; give a string"),
            (json!({"credential": null, "url": "u"}), "credential", "is missing; give a string"),
            (json!({"credential": 1, "url": "u"}), "credential", "must be a string"),
            (json!({"credential": "c", "url": "u", "headers": {"a": 5}}), "headers.a", "must be a string"),
            (json!({"credential": "c", "url": "u", "headers": [1]}), "headers", "must be an object"),
            (
                json!({"credential": "c", "url": "u", "headers": {"X-PX-Key": "k"}}),
                "headers.X-PX-Key",
                "is set by Pyxis",
            ),
            (
                json!({"credential": "c", "url": "u", "headers": {"a b": "k"}}),
                "headers.a b",
                "is not a header name",
            ),
            (
                json!({"credential": "c", "url": "u", "reason": "a\nb"}),
                "reason",
                "must not contain line breaks",
            ),
            (json!({"credential": "c", "url": "u", "header": {}}), "header", "did you mean headers?"),
        ] {
            let error = call(&arguments).unwrap_err();
            assert!(error.field == field && error.detail.contains(detail), "{error:?}");
        }
    }

    #[test]
    fn the_digest_covers_everything_that_is_sent_and_nothing_else() {
        let base = json!({"credential": "c", "url": "u", "body": "b", "headers": {"h": "1"}});
        let digest = |arguments: &Value| call(arguments).unwrap().digest();
        for (member, other) in [
            ("credential", json!("d")),
            ("url", json!("v")),
            ("body", json!("c")),
            ("headers", json!({"h": "2"})),
        ] {
            let mut changed = base.clone();
            changed[member] = other;
            assert_ne!(digest(&base), digest(&changed), "{member}");
        }
        let mut reasoned = base.clone();
        reasoned["reason"] = json!("why");
        assert_eq!(digest(&base), digest(&reasoned));
    }
}
