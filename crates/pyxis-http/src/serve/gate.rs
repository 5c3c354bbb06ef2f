//! The service behind a connection. It checks requests of every HTTP version.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST};
use http::{HeaderMap, Request, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use tower::Service;

use super::body_wait::{BodyWait, SlowBodyFlag};
use super::head::is_host;
use super::refusal::{MAX_HEADER_BYTES, MAX_HEADER_FIELDS, MalformedRequest};
use super::wire::ConnectionState;

/// Answers refused requests itself and forwards the others.
#[derive(Clone)]
pub(super) struct Gate<S> {
    service: S,
    shared: Arc<ConnectionState>,
    /// Total time for a body.
    body_total: Duration,
}

impl<S> Gate<S> {
    pub(super) fn new(service: S, shared: Arc<ConnectionState>, body_total: Duration) -> Self {
        Self { service, shared, body_total }
    }

    /// Checks a request's head. Over HTTP/1, [`super::wire`] has already done most of it.
    fn check(&self, request: &Request<hyper::body::Incoming>) -> Result<(), MalformedRequest> {
        if request.version() == Version::HTTP_2 {
            check_sizes(request.headers())?;
            check_length(request.headers())?;
        } else if let Some(refusal) = self.shared.next() {
            return Err(refusal);
        }
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        if authority.is_none() && request.version() != Version::HTTP_2 {
            return Ok(());
        }
        check_host(authority, request.headers())
    }
}

/// Applies the HTTP/1 size limits to a head received over HTTP/2. A field counts with its HTTP/1 length.
fn check_sizes(headers: &HeaderMap) -> Result<(), MalformedRequest> {
    if headers.len() > MAX_HEADER_FIELDS {
        return Err(MalformedRequest::TooManyFields);
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > MAX_HEADER_BYTES { Err(MalformedRequest::FieldsTooLarge) } else { Ok(()) }
}

/// Allows one length at most, as over HTTP/1. The library accepts several equal ones.
fn check_length(headers: &HeaderMap) -> Result<(), MalformedRequest> {
    let several = headers.get_all(CONTENT_LENGTH).iter().nth(1).is_some();
    if several { Err(MalformedRequest::ContentLength) } else { Ok(()) }
}

/// Requires one host; `:authority` and `Host` must agree.
fn check_host(authority: Option<&str>, headers: &HeaderMap) -> Result<(), MalformedRequest> {
    let mut hosts = headers.get_all(HOST).iter();
    match (authority, hosts.next(), hosts.next()) {
        (_, _, Some(_)) => Err(MalformedRequest::SeveralHosts),
        (None, None, None) => Err(MalformedRequest::NoHost),
        (_, Some(host), None) if !is_host(host.as_bytes()) => Err(MalformedRequest::HostValue),
        (Some(authority), _, None) if !is_host(authority.as_bytes()) => Err(MalformedRequest::HostValue),
        (Some(authority), Some(host), None)
            if !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()) =>
        {
            Err(MalformedRequest::HostDiffers)
        }
        _ => Ok(()),
    }
}

impl<S> Service<Request<hyper::body::Incoming>> for Gate<S>
where
    S: Service<Request<RequestBody>, Response = Response>,
    S::Future: Unpin,
{
    type Response = Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<hyper::body::Incoming>) -> Self::Future {
        let version = request.version();
        let shared = Arc::clone(&self.shared);
        if let Err(refusal) = self.check(&request) {
            return ResponseFuture { way: Way::Refused(Some(refusal)), version, stall: Stall::Never, shared };
        }
        let (stall, request) = if request.body().is_end_stream() {
            (Stall::Never, request.map(RequestBody::new))
        } else if version == Version::HTTP_2 {
            let flag = Arc::new(SlowBodyFlag::default());
            let watch = Watch { wait: BodyWait::new(self.body_total), flag: Arc::clone(&flag) };
            (Stall::Stream(flag), request.map(|body| RequestBody { body, watch: Some(watch) }))
        } else {
            (Stall::Connection(Arc::clone(&self.shared)), request.map(RequestBody::new))
        };
        ResponseFuture { way: Way::Served(self.service.call(request)), version, stall, shared }
    }
}

/// Place that says why a body ended too early.
enum Stall {
    /// The request has no body.
    Never,
    Connection(Arc<ConnectionState>),
    Stream(Arc<SlowBodyFlag>),
}

impl Stall {
    fn reason(&self) -> Option<MalformedRequest> {
        match self {
            Self::Never => None,
            Self::Connection(shared) => shared.slow_body(),
            Self::Stream(flag) => flag.get(),
        }
    }
}

/// Pending response to a request.
pub(super) struct ResponseFuture<F> {
    way: Way<F>,
    version: Version,
    stall: Stall,
    shared: Arc<ConnectionState>,
}

enum Way<F> {
    Refused(Option<MalformedRequest>),
    Served(F),
}

impl<F, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response, E>> + Unpin,
{
    type Output = Result<Response, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let refusal = match &mut this.way {
            Way::Refused(refusal) => refusal.take().unwrap_or(MalformedRequest::RequestLine),
            Way::Served(future) => {
                let response = ready!(Pin::new(future).poll(context))?;
                if response.status() == StatusCode::SWITCHING_PROTOCOLS && this.version == Version::HTTP_11 {
                    this.shared.switch();
                }
                // If the body was too slow, that is the reason for the handler's error.
                let failed = response.status().is_client_error() || response.status().is_server_error();
                match this.stall.reason().filter(|_| failed) {
                    Some(reason) => reason,
                    None => return Poll::Ready(Ok(response)),
                }
            }
        };
        let mut response = refusal.response();
        if this.version == Version::HTTP_2 {
            response.headers_mut().remove(CONNECTION);
        }
        Poll::Ready(Ok(response))
    }
}

/// Request body that times out when the client stalls or is too slow.
pub struct RequestBody {
    body: hyper::body::Incoming,
    /// Set over HTTP/2. Over HTTP/1 the connection enforces the timeout.
    watch: Option<Watch>,
}

struct Watch {
    wait: BodyWait,
    flag: Arc<SlowBodyFlag>,
}

impl RequestBody {
    fn new(body: hyper::body::Incoming) -> Self {
        Self { body, watch: None }
    }
}

/// The client was too slow.
#[derive(Debug, thiserror::Error)]
#[error("the rest of the body did not arrive in time")]
struct SlowBodyError;

impl Body for RequestBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(frame) = frame {
            if let Some(watch) = &mut this.watch {
                let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                watch.wait.end_wait(data.map_or(0, Bytes::len));
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some(watch) = &mut this.watch else { return Poll::Pending };
        let reason = ready!(watch.wait.poll_too_slow(context));
        watch.flag.set(reason);
        Poll::Ready(Some(Err(SlowBodyError.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_is_named_and_named_alike() {
        let check = |authority, hosts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, http::HeaderValue::from_static(host));
            }
            check_host(authority, &headers).err()
        };
        assert_eq!(check(Some("a.example"), &[]), None);
        assert_eq!(check(Some("a.example:80"), &["A.Example:80"]), None);
        assert_eq!(check(None, &["a.example"]), None);
        assert_eq!(check(None, &[]), Some(MalformedRequest::NoHost));
        assert_eq!(check(Some("a.example"), &["b.example"]), Some(MalformedRequest::HostDiffers));
        assert_eq!(check(Some("a.example"), &["a.example:80"]), Some(MalformedRequest::HostDiffers));
        assert_eq!(check(Some("a"), &["a", "a"]), Some(MalformedRequest::SeveralHosts));
        assert_eq!(check(None, &["a, b"]), Some(MalformedRequest::HostValue));
        assert_eq!(check(Some("u@a"), &[]), Some(MalformedRequest::HostValue));
        assert_eq!(check(Some("a:99999"), &[]), Some(MalformedRequest::HostValue));
        assert_eq!(check(Some("a:"), &["a:"]), Some(MalformedRequest::HostValue));
    }
}
