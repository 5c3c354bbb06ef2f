//! Messages of a stream of events, each as soon as it arrives.

use std::future::poll_fn;
use std::pin::Pin;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body::Body;
use serde_json::Value;

/// Reader of a stream of events.
pub(super) struct EventReader<B> {
    body: B,
    received: Vec<u8>,
    /// Bytes of `received` that have no end of a line.
    searched: usize,
    /// Longest line, in bytes.
    max: usize,
}

impl<B> EventReader<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    pub(super) fn new(body: B, max: usize) -> Self {
        Self { body, received: Vec::new(), searched: 0, max }
    }

    /// The next message, on one line. `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<String>> {
        loop {
            while let Some(line) = self.line() {
                if let Some(message) = line.strip_prefix(b"data:").and_then(message) {
                    return Ok(Some(message));
                }
            }
            let Some(frame) = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await else {
                return Ok(None);
            };
            if let Ok(data) = frame.context("the answer of Pyxis broke off")?.into_data() {
                ensure!(
                    self.received.len() + data.len() <= self.max,
                    "the response of Pyxis is longer than 64 MiB; ask for less, or read it in parts"
                );
                self.received.extend_from_slice(&data);
            }
        }
    }

    /// Takes the next whole line.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.received[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| self.searched + end) else {
            self.searched = self.received.len();
            return None;
        };
        self.searched = 0;
        Some(self.received.drain(..=end).collect())
    }
}

/// True if a message is the response to the request with this id.
pub(super) fn answers(message: &str, id: &Value) -> bool {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    message["id"] == *id && (!message["result"].is_null() || !message["error"].is_null())
}

/// A message in one line. `None` for anything else.
pub(super) fn message(text: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(text).ok()?;
    (value["jsonrpc"] == "2.0").then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    fn reader(
        chunks: &[&'static str],
    ) -> EventReader<impl Body<Data = Bytes, Error = Infallible> + Unpin + use<>> {
        let frames = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::from_static(chunk.as_bytes()))));
        EventReader::new(StreamBody::new(stream::iter(frames.collect::<Vec<_>>())), 64)
    }

    #[tokio::test]
    async fn messages_are_read_across_pieces_and_nothing_else_is() {
        let first = "id: 0\ndata:\n\n: ping\n\ndata: {\"jsonrpc\":\"2.0\",";
        let mut reader =
            reader(&[first, "\"id\":1}\n\ndata: {}\ndata: {\"jsonrpc\":", "\"2.0\",\"id\":2}\r\n"]);
        assert_eq!(reader.next().await.unwrap().unwrap(), r#"{"id":1,"jsonrpc":"2.0"}"#);
        assert_eq!(reader.next().await.unwrap().unwrap(), r#"{"id":2,"jsonrpc":"2.0"}"#);
        assert_eq!(reader.next().await.unwrap(), None);
    }

    #[test]
    fn only_a_response_with_its_id_answers_a_request() {
        let id = serde_json::json!(7);
        for (message, expected) in [
            (r#"{"id":7,"result":{}}"#, true),
            (r#"{"id":7,"error":{"code":1}}"#, true),
            (r#"{"id":8,"result":{}}"#, false),
            (r#"{"id":7,"method":"elicitation/create"}"#, false),
            (r#"{"method":"notifications/message"}"#, false),
        ] {
            assert_eq!(answers(message, &id), expected, "{message}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_an_error() {
        let long: &'static str = "data: 0123456789012345678901234567890123456789";
        assert!(reader(&[long, long]).next().await.is_err());
    }
}
