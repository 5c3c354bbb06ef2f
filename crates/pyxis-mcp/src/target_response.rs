//! A target's response as the result of a tool: as text for a model, and as data.
//!
//! The data is written from the response itself. A JSON body goes into it as the target wrote it.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, StatusCode};
use rmcp::model::{CallToolResult, ContentBlock, RequestId};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json_text;
use crate::long_responses::Rest;

/// Headers that stand in the text. The others are only in the structured result.
const TELLING: [&str; 6] =
    ["content-type", "location", "link", "retry-after", "etag", "x-ratelimit-remaining"];
/// Room for a message around both copies of a body, in bytes.
const ENVELOPE: usize = 1024;

/// A target's response.
pub(crate) struct TargetResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// At most the beginning that fits into a result.
    pub(crate) body: Vec<u8>,
    pub(crate) truncated: bool,
    /// Place of the rest, if it can be read.
    pub(crate) rest: Option<Rest>,
}

/// The response as data.
#[derive(Serialize)]
struct ResponseData<'a> {
    outcome: &'static str,
    status: u16,
    headers: JoinedHeaders<'a>,
    body: BodyData<'a>,
    body_encoding: &'static str,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<RestData>,
}

/// JSON bodies as they are, others as text or base64.
#[derive(Serialize)]
#[serde(untagged)]
enum BodyData<'a> {
    Json(&'a RawValue),
    Text(Cow<'a, str>),
}

#[derive(Serialize)]
struct RestData {
    uri: String,
    length: usize,
}

/// Headers as an object. The values of one name are joined.
struct JoinedHeaders<'a>(&'a HeaderMap);

impl Serialize for JoinedHeaders<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.0.keys_len()))?;
        for name in self.0.keys() {
            object.serialize_entry(name.as_str(), &joined(self.0, name))?;
        }
        object.end()
    }
}

fn joined<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Cow<'a, str> {
    let mut values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let first = values.next().unwrap_or_default();
    values.fold(first, |before, value| Cow::Owned(format!("{before}, {value}")))
}

/// The answer to a message, as the newest protocol writes it.
#[derive(Serialize)]
struct AnswerMessage<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: ResultBody<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultBody<'a> {
    result_type: &'static str,
    content: Vec<ContentBlock>,
    structured_content: ResponseData<'a>,
    is_error: bool,
}

impl TargetResponse {
    /// The result of a tool. From status 400 on it is an error, which models treat with more care.
    pub(crate) fn result(&self) -> CallToolResult {
        let text = self.text();
        let content = self.content(text);
        let mut result =
            if self.is_error() { CallToolResult::error(content) } else { CallToolResult::success(content) };
        result.structured_content = Some(serde_json::to_value(self.data(text)).unwrap_or_default());
        result
    }

    /// The same result in the answer to the message with this id, without a tree of its values.
    pub(crate) fn message(&self, id: &RequestId) -> serde_json::Result<Vec<u8>> {
        let text = self.text();
        let result = ResultBody {
            result_type: "complete",
            content: self.content(text),
            structured_content: self.data(text),
            is_error: self.is_error(),
        };
        let mut written = Vec::with_capacity(ENVELOPE + 5 * self.body.len() / 2);
        serde_json::to_writer(&mut written, &AnswerMessage { jsonrpc: "2.0", id, result })?;
        Ok(written)
    }

    fn is_error(&self) -> bool {
        self.status.as_u16() >= 400
    }

    /// The body, if it is text. One that was cut may end inside a character.
    fn text(&self) -> Option<&str> {
        match std::str::from_utf8(&self.body) {
            Ok(text) => Some(text),
            Err(cut) if self.truncated && cut.error_len().is_none() => {
                std::str::from_utf8(&self.body[..cut.valid_up_to()]).ok()
            }
            Err(_) => None,
        }
    }

    fn content(&self, text: Option<&str>) -> Vec<ContentBlock> {
        let content_type = self.header("content-type").unwrap_or_default();
        let mut said = format!("HTTP {}", self.status);
        for name in TELLING {
            if let Some(value) = self.header(name) {
                said.extend(["\n", name, ": ", &value]);
            }
        }
        if self.truncated {
            said.extend(["\n", &self.after_the_cut()]);
        }
        let mut content = Vec::with_capacity(1);
        if let Some(text) = text {
            said.extend(["\n\n", text]);
            content.push(ContentBlock::text(said));
        } else {
            content.push(ContentBlock::text(format!("{said}\n(binary, {} bytes)", self.body.len())));
            if content_type.starts_with("image/") && !self.truncated {
                content.push(ContentBlock::image(STANDARD.encode(&self.body), &*content_type));
            }
        }
        if let Some(rest) = &self.rest {
            let content_type = Some(&*content_type).filter(|kind| !kind.is_empty());
            content.push(ContentBlock::resource_link(rest.link(content_type)));
        }
        content
    }

    /// The way to the rest of a body that was cut.
    fn after_the_cut(&self) -> String {
        let shown = self.body.len();
        match &self.rest {
            Some(rest) => {
                format!("(the first {shown} of {} bytes; read the rest at {})", rest.length, rest.uri(shown))
            }
            None => format!("(cut after {shown} bytes; ask for less, for example with paging)"),
        }
    }

    fn data<'a>(&'a self, text: Option<&'a str>) -> ResponseData<'a> {
        let (body, body_encoding) = match text {
            None => (BodyData::Text(STANDARD.encode(&self.body).into()), "base64"),
            Some(text) => match json_text::container(text).filter(|_| !self.truncated) {
                Some(json) => (BodyData::Json(json), "json"),
                None => (BodyData::Text(text.into()), "utf-8"),
            },
        };
        let rest = |rest: &Rest| RestData { uri: rest.uri(self.body.len()), length: rest.length };
        ResponseData {
            outcome: "response",
            status: self.status.as_u16(),
            headers: JoinedHeaders(&self.headers),
            body,
            body_encoding,
            truncated: self.truncated,
            rest: self.rest.as_ref().map(rest),
        }
    }

    /// The first value of a header.
    fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        self.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::{Value, json};

    use super::*;

    fn response(body: &[u8]) -> TargetResponse {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", &b"application/json"[..]),
            ("x-many", b"1"),
            ("x-many", b"2"),
            ("x-odd", b"\xff"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        TargetResponse { status: StatusCode::OK, headers, body: body.to_vec(), truncated: false, rest: None }
    }

    #[test]
    fn the_written_message_is_that_of_the_protocol_library_for_every_kind_of_response() {
        let json = response(b" {\"b\": 1.50, \"a\": [\"\\u00e9\\n\"], \"b\": 2}\r\n");
        let number = response(b"[1e999]");
        let text = response("line\nä \"quoted\"".as_bytes());
        let binary = response(b"\x00\xff");
        let mut image = response(b"\x89PNG\xff");
        image.headers.insert("content-type", HeaderValue::from_static("image/png"));
        let mut refused = response(b"{}");
        refused.status = StatusCode::NOT_FOUND;
        let mut cut = response("[1, \"ä".as_bytes());
        cut.body.pop();
        (cut.truncated, cut.rest) = (true, Some(Rest { id: "i".to_owned(), length: 99 }));
        for (response, encoding) in [
            (json, "json"),
            (number, "utf-8"),
            (text, "utf-8"),
            (binary, "base64"),
            (image, "base64"),
            (refused, "json"),
            (cut, "utf-8"),
        ] {
            let id = RequestId::Number(7);
            let written: Value = serde_json::from_slice(&response.message(&id).unwrap()).unwrap();
            let result = serde_json::to_value(response.result()).unwrap();
            assert_eq!(written, json!({"jsonrpc": "2.0", "id": 7, "result": result}));
            let data = &written["result"]["structuredContent"];
            assert_eq!(data["body_encoding"], encoding, "{data}");
            assert_eq!(
                (&data["headers"]["x-many"], &data["headers"]["x-odd"]),
                (&json!("1, 2"), &json!("\u{fffd}"))
            );
        }
    }

    #[test]
    fn a_json_body_keeps_its_numbers_and_the_order_of_its_members() {
        let body = "{\"z\": 12345678901234567890123, \"a\": 1.50}";
        let written = response(body.as_bytes()).message(&RequestId::Number(1)).unwrap();
        assert!(String::from_utf8(written).unwrap().contains(&format!("\"body\":{body}")));
    }
}
