//! One request, one attempt.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, Response, Version};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::capture_connection;
use tokio::time::{Instant, timeout_at};

use crate::body::{self, Body, BoxError};
use crate::connect::Connector;
use crate::error::{Error, InvalidRequest, Wait};
use crate::guard::origin;
use crate::keep_alive;

/// Connections of a zone, with the pool's idle time.
pub(crate) struct Connections {
    pub(crate) http: legacy::Client<Connector, Body>,
    /// `None`: every request opens a new connection.
    pub(crate) idle: Option<Duration>,
}

/// Maximum number of header lines in a response.
pub const MAX_ANSWER_LINES: usize = 1000;
/// Maximum total size of a response's header lines, in bytes, including line ends.
pub const MAX_ANSWER_HEAD: usize = 256 * 1024;

/// Sends `request` once; see [`crate::Client::send`].
pub(crate) async fn send(
    connections: &Connections,
    (mut request, upload): (Request<Body>, Arc<Upload>),
    first_byte: Duration,
) -> Result<Response<Incoming>, Error> {
    prepare(&mut request)?;
    // So far, only this function has polled the body.
    upload.taken.store(false, Ordering::Relaxed);
    let reused = connections.idle.map(|idle| (idle, capture_connection(&mut request)));
    match with_idle_limit(first_byte, &upload, connections.http.request(request)).await {
        Some(Ok(answer)) => {
            if let Some((idle, connection)) = reused {
                keep_alive::schedule_retirement(&answer, connection, idle);
            }
            bounded(answer)
        }
        Some(Err(error)) => Err(Error::from_client(error, upload.is_taken())),
        None if upload.is_taken() => Err(Error::Timeout(Wait::FirstByte)),
        None => Err(Error::Timeout(Wait::Connect)),
    }
}

/// Refuses a response whose head is too large, over any HTTP version.
fn bounded(answer: Response<Incoming>) -> Result<Response<Incoming>, Error> {
    let headers = answer.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() > MAX_ANSWER_LINES || bytes > MAX_ANSWER_HEAD {
        return Err(Error::HeadTooLarge);
    }
    Ok(answer)
}

/// Boxes the request's body and makes its progress visible.
pub(crate) fn watched<B>(request: Request<B>) -> (Request<Body>, Arc<Upload>)
where
    B: http_body::Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<BoxError>,
{
    let upload = Arc::new(Upload::new());
    let request = request.map(|body| body::boxed(Watched { body, upload: Arc::clone(&upload) }));
    (request, upload)
}

fn prepare(request: &mut Request<Body>) -> Result<(), InvalidRequest> {
    origin(request.uri())?;
    if request.uri().authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(InvalidRequest::UserInfo);
    }
    if request.method() == Method::CONNECT {
        return Err(InvalidRequest::Connect);
    }
    // The connection was judged by the URI, so the virtual host must match it.
    request.headers_mut().remove(HOST);
    // Extensions from a server's inbound request (an upgrade, a protocol) must not affect this one.
    request.extensions_mut().clear();
    // The version of an inbound request does not apply to this connection.
    *request.version_mut() = Version::HTTP_11;
    frame(request);
    Ok(())
}

/// Derives the framing from the body. A length taken from elsewhere is how requests are smuggled into a pooled
/// connection. hyper handles the rest correctly, except for the two cases below.
fn frame(request: &mut Request<Body>) {
    let empty = request.body().is_end_stream();
    let unknown_length = !empty && request.body().size_hint().exact().is_none();
    let method = request.method().clone();
    let headers = request.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    if empty && matches!(method, Method::POST | Method::PUT | Method::PATCH) {
        // RFC 9110, section 8.6: methods that define a body announce an empty one.
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    } else if unknown_length && matches!(method, Method::GET | Method::HEAD) {
        // Otherwise hyper assumes that these methods never have a body and drops it. Over HTTP/2 it removes the header
        // again.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// Waits for `future`, but no longer than `limit` after the start or after the last piece of the upload was sent. While
/// the caller has no next piece, there is no limit.
async fn with_idle_limit<F: Future>(limit: Duration, upload: &Upload, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut deadline = Instant::now() + limit;
    loop {
        if let Ok(output) = timeout_at(deadline, future.as_mut()).await {
            return Some(output);
        }
        let later = upload.last_piece() + limit;
        if later > deadline {
            deadline = later;
        } else if upload.is_waiting() {
            deadline += limit;
        } else {
            return None;
        }
    }
}

/// Progress of a request on its connection.
pub(crate) struct Upload {
    start: Instant,
    /// Time when the last piece of the body was taken.
    micros: AtomicU64,
    /// True once a connection has taken the request from its queue; nothing is sent before. A connection first asks
    /// whether there is a body.
    taken: AtomicBool,
    /// True while the connection wants the next piece and the caller does not have it yet.
    waiting: AtomicBool,
}

impl Upload {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            micros: AtomicU64::new(0),
            taken: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
        }
    }

    fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    fn mark_started(&self) {
        self.waiting.store(false, Ordering::Relaxed);
        self.taken.store(true, Ordering::Relaxed);
        let micros = u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.micros.store(micros, Ordering::Relaxed);
    }

    fn last_piece(&self) -> Instant {
        self.start + Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

struct Watched<B> {
    body: B,
    upload: Arc<Upload>,
}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for Watched<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() {
            self.upload.mark_started();
        } else {
            self.upload.waiting.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.upload.taken.store(true, Ordering::Relaxed);
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn silence_ends_the_wait() {
        let started = Instant::now();
        assert_eq!(with_idle_limit(LIMIT, &Upload::new(), std::future::pending::<()>()).await, None);
        assert_eq!(started.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn the_callers_silence_is_not_the_hosts() {
        let upload = Upload::new();
        let started = Instant::now();
        let exchange = async {
            upload.waiting.store(true, Ordering::Relaxed);
            sleep(Duration::from_secs(100)).await;
            upload.mark_started();
            std::future::pending::<()>().await;
        };
        assert_eq!(with_idle_limit(LIMIT, &upload, exchange).await, None);
        assert_eq!(started.elapsed().as_secs(), 100 + 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_upload_is_not_silence_but_the_wait_after_it_is() {
        let upload = Upload::new();
        let started = Instant::now();
        let exchange = async {
            for _ in 0..10 {
                sleep(Duration::from_secs(20)).await;
                upload.mark_started();
            }
            std::future::pending::<()>().await;
        };
        assert_eq!(with_idle_limit(LIMIT, &upload, exchange).await, None);
        assert_eq!(started.elapsed().as_secs(), 10 * 20 + 30);
    }
}
