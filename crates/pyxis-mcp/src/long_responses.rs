//! Responses that do not fit into a result, as resources that are read in parts.
//!
//! The result has the beginning and a link. A resource belongs to the agent that made the request, and no other agent
//! can tell it from one that does not exist.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use pyxis_gateway as gateway;
use pyxis_gateway::agent_tools::message;
use pyxis_gateway::entry_points::AgentIdentity;
use pyxis_gateway::long_responses::{self, LongResponse};
use rmcp::ErrorData;
use rmcp::model::{MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Longest body inside a result, and longest text of one reading, in bytes. More would fill a model's context.
pub(crate) const MAX_INLINE: usize = 64 * 1024;
/// Longest binary part of one reading, in bytes.
const MAX_BINARY: usize = 1024 * 1024;
/// Longest time to read a body. Event streams do not end by themselves.
const MAX_READING: Duration = Duration::from_secs(30);
/// Long bodies read at the same time. It limits memory; beyond it, bodies are cut.
const READERS: usize = 8;
/// Beginning of every URI.
const PREFIX: &str = "pyxis://responses/";

/// Reader and keeper of long responses.
#[derive(Clone)]
pub(crate) struct LongResponses {
    gateway: gateway::State,
    readers: Arc<Semaphore>,
}

/// A body as far as it was read.
pub(crate) struct ReadBody {
    pub(crate) bytes: Vec<u8>,
    /// True if all of it was read.
    pub(crate) is_whole: bool,
}

/// Place from which the rest of a body can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Identifier of the response.
    pub(crate) id: String,
    /// Length of the whole body, in bytes.
    pub(crate) length: usize,
}

impl Rest {
    /// URI of the part that begins at `offset`.
    pub(crate) fn uri(&self, offset: usize) -> String {
        format!("{PREFIX}{}?offset={offset}", self.id)
    }

    /// Link to the whole response.
    pub(crate) fn link(&self, content_type: Option<&str>) -> Resource {
        let length = u64::try_from(self.length).unwrap_or(u64::MAX);
        let link = Resource::new(format!("{PREFIX}{}", self.id), "response")
            .with_title("The whole response")
            .with_description("Read in parts: ?offset= names the first byte.")
            .with_size(length);
        match content_type {
            Some(kind) => link.with_mime_type(kind),
            None => link,
        }
    }
}

impl LongResponses {
    pub(crate) fn new(gateway: gateway::State) -> Self {
        Self { gateway, readers: Arc::new(Semaphore::new(READERS)) }
    }

    /// Reads a body. A long one is read to its end only if not too many are.
    ///
    /// The answer of a tool ends with its message, because a stream of events may stay open after it.
    pub(crate) async fn read_body(&self, mut body: Body, is_tool: bool) -> ReadBody {
        let until = Instant::now() + MAX_READING;
        let mut bytes = Vec::new();
        let mut search = message::AnswerSearch::default();
        let mut is_end = |bytes: &[u8]| is_tool && search.find(bytes).is_some();
        if read(&mut body, &mut bytes, MAX_INLINE, until, &mut is_end).await == Reading::Ended {
            return ReadBody { bytes, is_whole: true };
        }
        let most = self.gateway.config.response_max;
        let Ok(_reader) = self.readers.try_acquire() else { return ReadBody { bytes, is_whole: false } };
        let is_whole = read(&mut body, &mut bytes, most, until, &mut is_end).await == Reading::Ended;
        ReadBody { bytes, is_whole }
    }

    /// Keeps a long response for a while. `None` if that fails; the agent then has its beginning.
    pub(crate) async fn store_response(
        &self,
        agent: &AgentIdentity,
        head: (StatusCode, &HeaderMap),
        body: Vec<u8>,
    ) -> Option<Rest> {
        let length = body.len();
        match long_responses::store_response(&self.gateway, agent, head, Bytes::from(body)).await {
            Ok(id) => Some(Rest { id: id.to_string(), length }),
            Err(error) => {
                tracing::warn!(%error, "cannot keep a long response");
                None
            }
        }
    }

    /// Reads the part of a response that a URI names.
    pub(crate) async fn read(
        &self,
        agent: &AgentIdentity,
        uri: &str,
    ) -> Result<ReadResourceResult, ErrorData> {
        let unknown = || {
            let detail =
                "unknown resource: it has expired, or belongs to another agent; send the request again";
            ErrorData::resource_not_found(detail, Some(json!({ "uri": uri })))
        };
        let (id, offset) = parse(uri).ok_or_else(unknown)?;
        match long_responses::find(&self.gateway, agent, id).await {
            Ok(response) => part(uri, id, &response, offset),
            Err(error) if error.code() == "not_found" => Err(unknown()),
            Err(error) => {
                tracing::error!(%error, "cannot read a long response");
                Err(ErrorData::internal_error("the server failed; try again", None))
            }
        }
    }
}

/// The templates of all resources.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let about = "A response that was longer than its result. A reading has at most 64 KiB of text or 1 MiB of binary \
        data; `offset` is the first byte of the next one.";
    vec![
        ResourceTemplate::new(format!("{PREFIX}{{id}}{{?offset}}"), "response")
            .with_title("Long response")
            .with_description(about),
    ]
}

/// End of a reading.
#[derive(PartialEq, Eq)]
enum Reading {
    /// The body ended.
    Ended,
    /// There is more, or the body broke.
    Cut,
}

/// Reads until `bytes` has `most` bytes.
async fn read(
    body: &mut Body,
    bytes: &mut Vec<u8>,
    most: usize,
    until: Instant,
    is_end: &mut (impl FnMut(&[u8]) -> bool + Send),
) -> Reading {
    while bytes.len() <= most {
        match tokio::time::timeout_at(until, body.frame()).await {
            Ok(None) => return Reading::Ended,
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    bytes.extend_from_slice(&data);
                }
                if is_end(bytes) {
                    return Reading::Ended;
                }
            }
            Err(_) | Ok(Some(Err(_))) => return Reading::Cut,
        }
    }
    Reading::Cut
}

/// Identifier and offset in a URI.
fn parse(uri: &str) -> Option<(&str, usize)> {
    let rest = uri.strip_prefix(PREFIX)?;
    match rest.split_once('?') {
        None => Some((rest, 0)),
        Some((id, query)) => Some((id, query.strip_prefix("offset=")?.parse().ok()?)),
    }
}

/// The part of a response from `offset` on.
fn part(
    uri: &str,
    id: &str,
    response: &LongResponse,
    offset: usize,
) -> Result<ReadResourceResult, ErrorData> {
    let body = &response.body;
    if offset > body.len() {
        let detail = format!("offset: at most {}, the length of the response", body.len());
        return Err(ErrorData::invalid_params(detail, None));
    }
    let (contents, end) = if let Ok(text) = std::str::from_utf8(body) {
        let start = text.floor_char_boundary(offset);
        let end = text.floor_char_boundary(start.saturating_add(MAX_INLINE));
        (ResourceContents::text(&text[start..end], uri), end)
    } else {
        let end = body.len().min(offset.saturating_add(MAX_BINARY));
        (ResourceContents::blob(STANDARD.encode(&body[offset..end]), uri), end)
    };
    let rest = Rest { id: id.to_owned(), length: body.len() };
    let mut meta = MetaObject::default();
    meta.0.insert("pyxis/length".to_owned(), json!(body.len()));
    if end < body.len() {
        meta.0.insert("pyxis/next".to_owned(), json!(rest.uri(end)));
    }
    let contents = contents.with_meta(meta);
    let contents = match &response.content_type {
        Some(kind) => contents.with_mime_type(kind),
        None => contents,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(body: impl Into<Bytes>) -> LongResponse {
        LongResponse { content_type: None, body: body.into() }
    }

    /// Text of a reading and the offset of the next one.
    fn read_text(response: &LongResponse, offset: usize) -> (String, Option<usize>) {
        let read = serde_json::to_value(part("u", "i", response, offset).unwrap()).unwrap();
        let contents = &read["contents"][0];
        let next = contents["_meta"]["pyxis/next"].as_str();
        let next = next.map(|uri| parse(uri).unwrap().1);
        (contents["text"].as_str().unwrap().to_owned(), next)
    }

    #[test]
    fn the_parts_of_a_text_join_without_a_gap_whatever_its_characters() {
        let text = "aé漢🙂".repeat(20_000);
        let kept = response(text.clone());
        let (mut joined, mut next) = (String::new(), Some(0));
        while let Some(offset) = next {
            let (piece, after) = read_text(&kept, offset);
            assert!(piece.len() <= MAX_INLINE && !piece.is_empty());
            joined.push_str(&piece);
            next = after;
        }
        assert_eq!(joined, text);
    }

    #[test]
    fn binary_parts_come_in_base64_and_an_offset_beyond_the_end_is_refused() {
        let kept = response(vec![0xff; MAX_BINARY + 1]);
        let last = serde_json::to_value(part("u", "i", &kept, MAX_BINARY).unwrap()).unwrap();
        assert_eq!(last["contents"][0]["blob"], "/w==");
        assert!(part("u", "i", &kept, MAX_BINARY + 2).is_err());
    }

    #[test]
    fn only_a_uri_of_this_form_names_a_response() {
        assert_eq!(parse("pyxis://responses/a?offset=3"), Some(("a", 3)));
        assert_eq!(parse("pyxis://responses/a"), Some(("a", 0)));
        for other in ["pyxis://responses/a?offset=-1", "pyxis://responses/a?x=1", "file:///etc/passwd", ""] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
