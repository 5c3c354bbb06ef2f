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

/// The connections of a zone, and for how long the pool keeps one that is idle.
pub(crate) struct Connections {
    pub(crate) http: legacy::Client<Connector, Body>,
    /// `None`: every request opens its own connection.
    pub(crate) idle: Option<Duration>,
}

/// Most header lines that an answer may have.
pub const MAX_ANSWER_LINES: usize = 1000;
/// Most bytes that the header lines of an answer may have together, line ends included.
pub const MAX_ANSWER_HEAD: usize = 256 * 1024;

/// Sends `request` once; see [`crate::Client::send`].
pub(crate) async fn send(
    connections: &Connections,
    (mut request, upload): (Request<Body>, Arc<Upload>),
    first_byte: Duration,
) -> Result<Response<Incoming>, Error> {
    prepare(&mut request)?;
    // So far nobody but this function asked for the body.
    upload.taken.store(false, Ordering::Relaxed);
    let reused = connections.idle.map(|idle| (idle, capture_connection(&mut request)));
    match within(first_byte, &upload, connections.http.request(request)).await {
        Some(Ok(answer)) => {
            if let Some((idle, connection)) = reused {
                keep_alive::note(&answer, connection, idle);
            }
            bounded(answer)
        }
        Some(Err(error)) => Err(Error::from_client(error, upload.is_taken())),
        None if upload.is_taken() => Err(Error::Timeout(Wait::FirstByte)),
        None => Err(Error::Timeout(Wait::Connect)),
    }
}

/// Refuses an answer whose head is too large, over whichever version of HTTP it came.
fn bounded(answer: Response<Incoming>) -> Result<Response<Incoming>, Error> {
    let headers = answer.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() > MAX_ANSWER_LINES || bytes > MAX_ANSWER_HEAD {
        return Err(Error::HeadTooLarge);
    }
    Ok(answer)
}

/// The request with its body boxed, and what can be seen of it from outside.
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
    // The connection was judged by the URI, so the virtual host must be the same one.
    request.headers_mut().remove(HOST);
    // What a server attached to an inbound request (an upgrade, a protocol) must not steer this one.
    request.extensions_mut().clear();
    // The version that an inbound request came with says nothing about this connection.
    *request.version_mut() = Version::HTTP_11;
    frame(request);
    Ok(())
}

/// Framing follows from the body: a length that somebody else counted is how requests are smuggled
/// into a pooled connection. hyper does it right from here, except for two cases that it leaves open.
fn frame(request: &mut Request<Body>) {
    let empty = request.body().is_end_stream();
    let unknown_length = !empty && request.body().size_hint().exact().is_none();
    let method = request.method().clone();
    let headers = request.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    if empty && matches!(method, Method::POST | Method::PUT | Method::PATCH) {
        // RFC 9110, section 8.6: methods that mean to have a body say that it is empty.
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    } else if unknown_length && matches!(method, Method::GET | Method::HEAD) {
        // Without this, hyper takes it that these never have a body and drops it. Over HTTP/2 it
        // removes the header again.
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// Waits for `future`, but no longer than `limit` after the start or after the last piece of the
/// upload was taken. While the caller has no next piece, the silence is the caller's and has no limit here.
async fn within<F: Future>(limit: Duration, upload: &Upload, future: F) -> Option<F::Output> {
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

/// What a connection took of a request.
pub(crate) struct Upload {
    start: Instant,
    /// When the last piece of the body was taken.
    micros: AtomicU64,
    /// True if a connection took the request out of its queue: until then nothing was sent. It asks first of
    /// all whether there is a body.
    taken: AtomicBool,
    /// True while the connection wants the next piece and the caller does not have it.
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

    fn mark(&self) {
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
            self.upload.mark();
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
        assert_eq!(within(LIMIT, &Upload::new(), std::future::pending::<()>()).await, None);
        assert_eq!(started.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn the_callers_silence_is_not_the_hosts() {
        let upload = Upload::new();
        let started = Instant::now();
        let exchange = async {
            upload.waiting.store(true, Ordering::Relaxed);
            sleep(Duration::from_secs(100)).await;
            upload.mark();
            std::future::pending::<()>().await;
        };
        assert_eq!(within(LIMIT, &upload, exchange).await, None);
        assert_eq!(started.elapsed().as_secs(), 100 + 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_upload_is_not_silence_but_the_wait_after_it_is() {
        let upload = Upload::new();
        let started = Instant::now();
        let exchange = async {
            for _ in 0..10 {
                sleep(Duration::from_secs(20)).await;
                upload.mark();
            }
            std::future::pending::<()>().await;
        };
        assert_eq!(within(LIMIT, &upload, exchange).await, None);
        assert_eq!(started.elapsed().as_secs(), 10 * 20 + 30);
    }
}
