//! WebSockets of the command: the handshake goes to the server, and then bytes pass unread.

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use pyxis_net::body::{Body, empty};
use tokio::io::copy_bidirectional;

use crate::destination::Destination;
use crate::headers::end_to_end;
use crate::outgoing::outgoing;
use crate::pending;
use crate::refusal::ProxyRefusal;
use crate::state::ProxyState;

/// True for the handshake of a WebSocket over HTTP/1.1 (RFC 6455, section 4.1). The server checks the rest.
pub(crate) fn is_handshake<B>(request: &Request<B>) -> bool {
    let names = |list: HeaderName, name: &str| {
        let lines = request.headers().get_all(list).into_iter().filter_map(|line| line.to_str().ok());
        lines.flat_map(|line| line.split(',')).any(|found| found.trim().eq_ignore_ascii_case(name))
    };
    request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && names(CONNECTION, "upgrade")
        && names(UPGRADE, "websocket")
}

/// Opens a WebSocket through the server. A refusal, of the server or of the host, is answered like any other.
pub(crate) async fn open(
    state: &ProxyState,
    credential: &str,
    destination: &Destination,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, ProxyRefusal> {
    let command = hyper::upgrade::on(&mut request);
    let headers = std::mem::take(request.headers_mut());
    let (url, headers) = outgoing(destination, request.uri(), headers)?;
    let sent = state.server.websocket(credential, &url, headers).await;
    let mut response = sent.map_err(|error| error.refusal(state.server.base_url()))?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return pending::to_response(response).await;
    }
    let server = hyper::upgrade::on(&mut response);
    tokio::spawn(async move {
        let (Ok(command), Ok(server)) = (command.await, server.await) else { return };
        // Ends when both sides have ended, or one has failed; there is no one left to tell.
        drop(copy_bidirectional(&mut TokioIo::new(command), &mut TokioIo::new(server)).await);
    });
    Ok(switching(std::mem::take(response.headers_mut())))
}

/// The server's 101, for the command.
fn switching(headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = end_to_end(headers);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    response
}
