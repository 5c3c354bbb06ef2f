//! One request of the command, to the host and back.

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use pyxis_net::body::{Body, boxed, empty};

use crate::destination::Destination;
use crate::listener::Shared;
use crate::refusal::Refusal;
use crate::routes::Route;
use crate::{pending, placeholder, plain};

/// Answers a request for `destination`, in any form of the request line.
pub(crate) async fn answer(
    shared: &Shared,
    destination: &Destination,
    request: Request<Incoming>,
) -> Response<Body> {
    let asked = request.headers().clone();
    let is_head = request.method() == Method::HEAD;
    let answered = exchange(shared, destination, request).await;
    let response = answered.unwrap_or_else(|refusal| refusal.into_response(&asked));
    // Over HTTP/2, a body after HEAD is an error of the protocol.
    if is_head { response.map(|_| empty()) } else { response }
}

async fn exchange(
    shared: &Shared,
    destination: &Destination,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    if !destination.is_named_by(request.uri(), request.headers()) {
        let detail = format!("the request names another host than {}", destination.authority());
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "host_mismatch", detail));
    }
    if request.headers().contains_key(UPGRADE) && request.headers().contains_key(CONNECTION) {
        let detail = "pyxis run carries no WebSocket and no other upgrade of a connection";
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail));
    }
    if request.method() == Method::CONNECT {
        let detail = "CONNECT within a connection to a host is not supported";
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail));
    }
    match shared.routes.route(destination.root()) {
        Route::Credential(name) => forward(shared, name, destination, request).await,
        Route::Ambiguous(names) => Err(ambiguous(destination, &names)),
        Route::Unknown => plain::answer(shared, destination, request).await,
    }
}

async fn forward(
    shared: &Shared,
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
    let sent = shared.server.forward(credential, &head.method, &url, headers, boxed(body)).await;
    let response = sent.map_err(|error| {
        let detail = format!("no response of Pyxis at {}: {error}", shared.server.base_url());
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

/// True for headers by which Pyxis is told what to do. The command may only give a reason.
fn is_control(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-px-") && name != "x-px-reason"
}

/// Headers without those of a connection (RFC 9110, section 7.6.1). The length is kept: the body is passed on as it is.
pub(crate) fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| *name != CONTENT_LENGTH.as_str())
        .collect();
    let own = [CONNECTION, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
    for name in own.iter().map(HeaderName::as_str).chain(named.iter().map(String::as_str)) {
        headers.remove(name);
    }
    let hops: Vec<HeaderName> = headers
        .keys()
        .filter(|name| matches!(name.as_str(), "keep-alive" | "http2-settings"))
        .chain(headers.keys().filter(|name| name.as_str().starts_with("proxy-")))
        .cloned()
        .collect();
    for name in hops {
        headers.remove(name);
    }
    headers
}
