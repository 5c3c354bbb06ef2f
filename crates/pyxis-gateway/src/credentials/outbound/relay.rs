//! The answer's body on its way to the agent: decoded, scrubbed, never held back longer than the
//! start of a secret could be.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::SET_COOKIE;
use http_body::{Body, Frame};
use hyper::body::Incoming;
use pyxis_net::body::IdleTimeout;
use pyxis_scrub::{Decoder, Needles, Pieces, Scrubber};

use super::replacement::Replacement;
use super::{scrub_value, scrubbed_name};
use crate::error::BoxError;

/// Why a stream broke off after its head had been relayed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the upstream's response ended early")]
    Upstream(#[source] pyxis_net::Error),
    #[error("the response's content coding is corrupt")]
    Coding(#[source] pyxis_scrub::DecodeError),
}

/// Longest that the head of a response is held back for the first piece of its body. Streams of events may be silent for
/// long after their head, and their readers want to know that they began.
const HEAD_START: Duration = Duration::from_millis(50);

/// A body without the secret.
pub(crate) struct ScrubbedBody {
    upstream: IdleTimeout<Incoming>,
    decoder: Option<Decoder>,
    scrubber: Scrubber,
    replacement: Option<Replacement>,
    needles: Arc<Needles>,
    ready: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    ended: bool,
    /// Bytes handed on so far.
    relayed: u64,
}

impl ScrubbedBody {
    pub(crate) fn new(
        upstream: Incoming,
        decoder: Option<Decoder>,
        needles: Arc<Needles>,
        idle: Duration,
    ) -> Self {
        Self {
            upstream: IdleTimeout::new(upstream, idle),
            decoder,
            scrubber: Scrubber::new(Arc::clone(&needles)),
            replacement: None,
            needles,
            ready: VecDeque::new(),
            trailers: None,
            ended: false,
            relayed: 0,
        }
    }

    /// Replaces a text in a body of which nothing was read yet.
    pub(crate) fn replace(&mut self, replacement: Replacement) {
        self.replacement = Some(replacement);
    }

    /// Bytes handed on so far.
    pub(crate) fn relayed(&self) -> u64 {
        self.relayed
    }

    /// How often the secret was found and removed.
    pub(crate) fn redactions(&self) -> u64 {
        self.scrubber.hits()
    }

    /// Length that the upstream announced, where it is also the length of what is relayed unless the
    /// secret is in it.
    pub(crate) fn announced_length(&self) -> Option<u64> {
        if self.decoder.is_some() { None } else { self.upstream.size_hint().exact() }
    }

    /// Waits for the whole body if that is certain to be short; `None` leaves it streaming.
    pub(crate) async fn collect_short(&mut self, at_most: u64) -> Result<Option<Collected>, Broken> {
        if self.announced_length().is_none_or(|length| length > at_most) {
            return Ok(None);
        }
        let mut collected = Collected::default();
        while let Some(frame) = std::future::poll_fn(|context| self.poll_next(context)).await {
            collected.push(frame?);
        }
        Ok(Some(collected))
    }

    /// Waits for the first piece of a body that is decoded, and [`HEAD_START`] for that of any other. So damage
    /// from the start is reported in the head of the response.
    pub(crate) async fn begin(&mut self) -> Result<(), Broken> {
        let is_decoded = self.decoder.is_some();
        let first = std::future::poll_fn(|context| self.poll_ready(context));
        if is_decoded {
            return first.await;
        }
        tokio::time::timeout(HEAD_START, first).await.unwrap_or(Ok(()))
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        while self.ready.is_empty() && !self.ended {
            if self.decode()? {
                continue;
            }
            match ready!(Pin::new(&mut self.upstream).poll_frame(context)) {
                None => self.end()?,
                Some(Ok(frame)) => self.accept_frame(frame),
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Err(Broken::Upstream(error)));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        ready!(self.poll_ready(context))?;
        if let Some(chunk) = self.ready.pop_front() {
            self.relayed += chunk.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn accept_frame(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) => self.push(data),
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    self.trailers = Some(clean_trailers(&trailers, &self.needles));
                }
            }
        }
    }

    fn push(&mut self, data: Bytes) {
        if let Some(decoder) = &mut self.decoder {
            decoder.push(data);
        } else {
            let pieces = self.scrubber.push(data);
            self.hand_on(pieces);
        }
    }

    /// Queues what is scrubbed.
    fn hand_on(&mut self, pieces: Pieces) {
        match &mut self.replacement {
            Some(replacement) => {
                self.ready.extend(pieces.iter().filter_map(|piece| replacement.push(piece)));
            }
            None => self.ready.extend(pieces),
        }
    }

    /// Decodes one piece of what came; `false` where there is none left. Only one at a time, when it is asked for: a
    /// few bytes can stand for gigabytes.
    fn decode(&mut self) -> Result<bool, Broken> {
        let Some(decoder) = &mut self.decoder else { return Ok(false) };
        let Some(plain) = decoder.pull().map_err(Broken::Coding)? else { return Ok(false) };
        let pieces = self.scrubber.push(plain);
        self.hand_on(pieces);
        Ok(true)
    }

    fn end(&mut self) -> Result<(), Broken> {
        self.ended = true;
        if let Some(decoder) = &mut self.decoder {
            decoder.finish().map_err(Broken::Coding)?;
        }
        let pieces = self.scrubber.finish();
        self.hand_on(pieces);
        if let Some(replacement) = &mut self.replacement {
            self.ready.extend(replacement.finish());
        }
        Ok(())
    }
}

/// Trailers without secrets. A cookie has no place among them (RFC 9110, section 6.5.1), whatever the credential
/// allows.
fn clean_trailers(trailers: &HeaderMap, needles: &Needles) -> HeaderMap {
    let mut clean = HeaderMap::with_capacity(trailers.len());
    for (name, value) in trailers {
        if name != SET_COOKIE && !pyxis_core::headers::never_relayed(name.as_str()) {
            clean.append(scrubbed_name(name, needles), scrub_value(value, needles));
        }
    }
    clean
}

/// A short body with its trailers.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Collected {
    fn push(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) if self.body.is_empty() => self.body = data,
            Ok(data) => self.body = [&self.body[..], &data[..]].concat().into(),
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
    }
}

impl Body for ScrubbedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.poll_next(context).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn trailers_bring_no_cookie_and_no_secret_in_name_or_value() {
        let sent = [
            ("x-sum", "1"),
            ("x-sum", "canary-4471"),
            ("x-canary-4471", "2"),
            ("set-cookie", "a=b"),
            ("px-error", "mine"),
        ];
        let sent: HeaderMap = sent
            .into_iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let clean = clean_trailers(&sent, &Needles::new("api", &[b"canary-4471"]));
        let mut seen: Vec<_> =
            clean.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        seen.sort_unstable();
        assert_eq!(seen, [("x-redacted", "2"), ("x-sum", "1"), ("x-sum", "[REDACTED:api]")]);
    }
}
