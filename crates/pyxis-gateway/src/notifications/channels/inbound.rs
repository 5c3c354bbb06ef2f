//! Reports of platforms: headers that prove the sender, messages that people act on, and work that can outlast a request.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http::HeaderMap;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_http::body::{self, BodyError};
use pyxis_store::Store;
use pyxis_store::chat_messages::{self, ChatMessageRow};
use serde::de::DeserializeOwned;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::runtime::survival::caught;

/// Largest difference between a platform's clock and this one, in seconds.
const MAX_AGE: u64 = 5 * 60;
/// Largest body, in bytes.
const MAX_BODY: usize = 256 * 1024;
/// Time in which a body must arrive. Anyone can claim a recent time and a signature, which only the body disproves.
const ARRIVAL: Duration = Duration::from_secs(5);
/// Time that a request waits for the outcome. Slack and Discord wait three seconds.
const PROMPT: Duration = Duration::from_millis(2500);

/// Value of a header, if it is text.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// True for a time in seconds that is at most five minutes from now, before or after.
pub(super) fn is_recent(timestamp: &str, now: UnixMillis) -> bool {
    timestamp.parse::<i64>().is_ok_and(|sent_at| now.seconds().abs_diff(sent_at) <= MAX_AGE)
}

/// Reads a small body that arrives soon. Called once the headers can be those of the platform.
pub(super) async fn read_body(body: Body) -> Result<Bytes> {
    let seconds = ARRIVAL.as_secs();
    let read = timeout(ARRIVAL, body::read(body, MAX_BODY)).await.map_err(|_| Error::SlowPost { seconds })?;
    read.map_err(|error| match error {
        BodyError::TooLarge => Error::PostTooLarge { max: MAX_BODY },
        BodyError::Broken => Error::IncompleteBody,
    })
}

/// A JSON body.
pub(super) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| Error::InvalidJson(error.to_string()))
}

/// Records the id of the message that a person acts on, if the answer to its post was lost. It then shows the outcome. A
/// failure holds up no decision.
pub(super) async fn remember_posted(
    store: &Store,
    now: UnixMillis,
    message: &ChatMessageRow,
    message_ref: Option<String>,
) {
    let Some(message_ref) = message_ref.filter(|_| message.message_ref.is_none()) else { return };
    if let Err(error) = chat_messages::record_posted(store, message.id, &message_ref, now).await {
        tracing::warn!(message = %message.id, %error, "cannot record the id of a message");
    }
}

/// Work that a request started. It continues if the platform stops waiting.
pub(super) struct Work<T>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Work<T> {
    pub(super) fn start(
        platform: ChatPlatform,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Self {
        Self(tokio::spawn(caught(platform.as_str(), Box::pin(work))))
    }

    /// The outcome; `None` if the work takes longer than platforms wait.
    pub(super) async fn promptly(&mut self) -> Option<Result<T>> {
        timeout(PROMPT, &mut self.0).await.ok().map(flattened)
    }

    /// The outcome, whenever it comes.
    pub(super) async fn finished(self) -> Result<T> {
        flattened(self.0.await)
    }
}

fn flattened<T>(joined: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    joined.unwrap_or_else(|error| Err(Error::Internal(error.into())))
}

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::{StreamExt, stream};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_if_it_is_small_and_arrives_soon() {
        assert_eq!(read_body(Body::from("{}")).await.unwrap(), "{}");
        let whole = Body::from(vec![b' '; MAX_BODY]);
        assert_eq!(read_body(whole).await.unwrap().len(), MAX_BODY);
        let long = Body::from(vec![b' '; MAX_BODY + 1]);
        assert!(matches!(read_body(long).await, Err(Error::PostTooLarge { max: MAX_BODY })));
        let broken = stream::iter([Ok("{"), Err(io::Error::from(io::ErrorKind::UnexpectedEof))]);
        assert!(matches!(read_body(Body::from_stream(broken)).await, Err(Error::IncompleteBody)));
        let slow = stream::iter([Ok::<_, io::Error>("{")]).chain(stream::pending());
        let refused = read_body(Body::from_stream(slow)).await.unwrap_err();
        assert_eq!(refused.code(), "request_timeout");
    }

    #[test]
    fn a_time_counts_for_five_minutes() {
        let now = UnixMillis(1_767_225_600_000);
        for recent in ["1767225600", "1767225300", "1767225900"] {
            assert!(is_recent(recent, now), "{recent}");
        }
        for other in ["1767225299", "1767225901", "", "now", "1767225600.0", "-1", "9223372036854775808"] {
            assert!(!is_recent(other, now), "{other}");
        }
    }
}
