//! Responses of the upstream.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::TRAILER;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

/// A response under construction.
pub struct Reply {
    response: Response<Frames>,
    trailers: HeaderMap,
    pub(super) wait: Option<oneshot::Receiver<()>>,
    pub(super) abort: bool,
    pub(super) early: bool,
}

impl Reply {
    /// A response without a body. Panics if `status` is not an HTTP status.
    pub fn new(status: u16) -> Self {
        let mut response = Response::new(Frames::default());
        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
        Self { response, trailers: HeaderMap::new(), wait: None, abort: false, early: false }
    }

    /// 200 with a body.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::new(200).body(body)
    }

    /// 200 with JSON text.
    pub fn json(text: &str) -> Self {
        Self::ok(text.to_owned()).header("content-type", "application/json")
    }

    /// No response: the connection (HTTP/1.1) or stream (HTTP/2) is reset after the request is read.
    pub fn abort() -> Self {
        Self { abort: true, ..Self::new(500) }
    }

    /// 200 with a body that the test sends piece by piece.
    pub fn streaming() -> (Self, Chunks) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut reply = Self::new(200);
        reply.response.body_mut().live = Some(receiver);
        (reply, Chunks(sender))
    }

    /// Adds a header. Panics if name or value is not valid.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value);
        self.response.headers_mut().append(name, value);
        self
    }

    /// Sets the body in one piece, with `Content-Length`.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.response.body_mut().ready = VecDeque::from([Frame::data(body.into())]);
        self
    }

    /// Sets a body that is already encoded (gzip, br, …), with its `Content-Encoding`.
    #[must_use]
    pub fn encoded(self, coding: &str, body: impl Into<Bytes>) -> Self {
        self.header("content-encoding", coding).body(body)
    }

    /// Sets the body in several pieces, without `Content-Length`.
    #[must_use]
    pub fn chunks<C: Into<Bytes>>(mut self, chunks: impl IntoIterator<Item = C>) -> Self {
        let body = self.response.body_mut();
        body.ready = chunks.into_iter().map(|chunk| Frame::data(chunk.into())).collect();
        body.chunked = true;
        self
    }

    /// Adds a trailer after the body. An HTTP/1.1 client receives it only if it sent `TE: trailers`.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value);
        self.response.headers_mut().append(TRAILER, name.clone().into());
        self.trailers.append(name, value);
        self
    }

    /// Holds the response back until the test releases it.
    #[must_use]
    pub fn hold(mut self) -> (Self, Release) {
        let (release, wait) = oneshot::channel();
        self.wait = Some(wait);
        (self, Release(release))
    }

    /// Responds as soon as the request head has arrived, while the body is still arriving.
    #[must_use]
    pub fn early(mut self) -> Self {
        self.early = true;
        self
    }

    pub(super) fn into_response(mut self) -> Response<Frames> {
        if !self.trailers.is_empty() {
            self.response.body_mut().trailers = Some(self.trailers);
        }
        self.response
    }
}

fn pair(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    (name.parse().expect("a header name"), value.parse().expect("a header value"))
}

/// Releases a held response, explicitly or when dropped.
pub struct Release(#[expect(dead_code, reason = "dropping it is the signal")] oneshot::Sender<()>);

impl Release {
    /// Sends the response now.
    pub fn send(self) {}
}

/// Sending side of a streamed body. The body ends when it is dropped.
pub struct Chunks(mpsc::UnboundedSender<io::Result<Bytes>>);

impl Chunks {
    /// Sends one piece. Has no effect once the client has disconnected.
    pub fn send(&self, chunk: impl Into<Bytes>) {
        // The receiver may be gone, in which case no one reads the data.
        let _ = self.0.send(Ok(chunk.into()));
    }

    /// Waits until the client has disconnected.
    pub async fn closed(&self) {
        self.0.closed().await;
    }

    /// Aborts the body: the connection (HTTP/1.1) or stream (HTTP/2) is reset.
    pub fn abort(self) {
        let _ = self.0.send(Err(io::Error::other("broken off by the test")));
    }
}

/// A response body: ready pieces, then streamed pieces, then trailers.
#[derive(Default)]
pub(super) struct Frames {
    ready: VecDeque<Frame<Bytes>>,
    chunked: bool,
    live: Option<mpsc::UnboundedReceiver<io::Result<Bytes>>>,
    trailers: Option<HeaderMap>,
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(frame) = self.ready.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if let Some(live) = &mut self.live {
            if let Some(chunk) = ready!(live.poll_recv(cx)) {
                return Poll::Ready(Some(chunk.map(Frame::data)));
            }
            self.live = None;
        }
        Poll::Ready(self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.chunked || self.live.is_some() || self.trailers.is_some() {
            return SizeHint::default();
        }
        let length = self.ready.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum();
        SizeHint::with_exact(length)
    }
}
