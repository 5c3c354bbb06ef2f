//! One request of the command, to the host and back.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, UPGRADE};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use http_body::Frame;
use hyper::body::Incoming;
use pyxis_net::body::{Body, boxed};

use crate::destination::Destination;
use crate::headers::end_to_end;
use crate::refusal::Refusal;
use crate::routes::Route;
use crate::state::ProxyState;
use crate::{pending, placeholder, plain};

/// Answers a request for `destination`, in any form of the request line.
pub(crate) async fn answer(
    state: &ProxyState,
    destination: &Destination,
    request: Request<Incoming>,
) -> Response<Body> {
    let asked = request.headers().clone();
    let is_head = request.method() == Method::HEAD;
    let answered = exchange(state, destination, request).await;
    let mut response = answered.unwrap_or_else(|refusal| refusal.into_response(&asked));
    if is_head {
        // The length is that of the server's own response, which has no body; none is better than a wrong one. A body
        // after HEAD is an error over HTTP/2.
        response.headers_mut().remove(CONTENT_LENGTH);
        *response.body_mut() = boxed(NoBody);
    }
    response
}

/// No body, of a length that is not told. Of an empty one, the library would tell the length 0.
struct NoBody;

impl http_body::Body for NoBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

async fn exchange(
    state: &ProxyState,
    destination: &Destination,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    if !destination.is_named_by(request.uri(), request.headers()) {
        let detail = format!("the Host header does not match the connection to {}", destination.authority());
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "host_mismatch", detail));
    }
    if is_upgrade(request.headers()) {
        let detail = "pyxis run carries no WebSocket and no other upgrade of a connection";
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail));
    }
    if request.method() == Method::CONNECT {
        let detail = "CONNECT within a connection to a host is not supported";
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail));
    }
    match state.routes.route(destination.root()) {
        Route::Credential(name) => forward(state, name, destination, request).await,
        Route::Ambiguous(names) => Err(ambiguous(destination, &names)),
        Route::Unknown => plain::answer(state, destination, request).await,
    }
}

async fn forward(
    state: &ProxyState,
    credential: &str,
    destination: &Destination,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    let path = path.filter(|path| path.starts_with('/')).ok_or_else(|| {
        let detail = "the request line has no path; write one that begins with /";
        Refusal::new(StatusCode::BAD_REQUEST, "malformed_request", detail)
    })?;
    let mut headers = end_to_end(head.headers);
    if let Some(name) = headers.keys().find(|name| is_control(name)) {
        let detail = format!("the header {name} belongs to Pyxis; only X-PX-Reason may be set");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "unknown_header", detail));
    }
    placeholder::remove(&mut headers);
    let url = destination.url(path);
    let sent = state.server.forward(credential, &head.method, &url, headers, boxed(body)).await;
    let response = sent.map_err(|error| {
        let detail = format!("no response of Pyxis at {}: {error}", state.server.base_url());
        Refusal::new(StatusCode::BAD_GATEWAY, "pyxis_unreachable", detail)
    })?;
    let (mut head, body) = response.into_parts();
    if pending::is_own(&head.headers) {
        return Err(pending::read(head.status, &head.headers, body).await);
    }
    head.headers = end_to_end(head.headers);
    head.version = http::Version::default();
    head.extensions.clear();
    Ok(Response::from_parts(head, boxed(body)))
}

fn ambiguous(destination: &Destination, names: &[&str]) -> Refusal {
    let host = destination.authority();
    let detail = format!(
        "several credentials allow {host}: {}. Choose one with --use {host}={}",
        names.join(", "),
        names.first().copied().unwrap_or("CREDENTIAL"),
    );
    Refusal::new(StatusCode::FORBIDDEN, "credential_ambiguous", detail)
}

/// True for a request to speak another protocol on the connection, except HTTP/2, which clients offer and do not need.
fn is_upgrade(headers: &HeaderMap) -> bool {
    let names = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    headers.contains_key(CONNECTION)
        && names.flat_map(|value| value.split(',')).any(|name| name.trim() != "h2c")
}

/// True for headers by which Pyxis is told what to do. The command may only give a reason.
fn is_control(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-px-") && name != "x-px-reason"
}
