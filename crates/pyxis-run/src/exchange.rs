//! One request of the command, to the host and back.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, UPGRADE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Frame;
use hyper::body::Incoming;
use pyxis_net::body::{Body, boxed};
use tokio::time::timeout;

use crate::destination::Destination;
use crate::outgoing::outgoing;
use crate::refusal::{ProxyRefusal, RefusalForm};
use crate::routes::Route;
use crate::state::ProxyState;
use crate::{pending, plain_http, websocket};

/// Time without a response after which the person is told where a request may wait.
const SILENCE: Duration = Duration::from_secs(5);

/// Answers a request for `destination`, in any form of the request line.
pub(crate) async fn answer(
    state: &ProxyState,
    destination: &Destination,
    request: Request<Incoming>,
) -> Response<Body> {
    let form = RefusalForm::accepted(request.headers());
    let method = request.method().clone();
    let answered = exchange(state, destination, request).await;
    let mut response = answered.unwrap_or_else(|refusal| {
        // Few tools show the text of a refusal. The path stays out of it: it may have a secret of the tool.
        state.notice(&format!("{method} {}: {}", destination.root().origin(), refusal.detail));
        refusal.into_response(form)
    });
    if method == Method::HEAD {
        // The length is that of the server's own response, which has no body; none is better than a wrong one. A body
        // after HEAD is an error over HTTP/2.
        response.headers_mut().remove(CONTENT_LENGTH);
        *response.body_mut() = boxed(NoBody);
    }
    response
}

/// Waits for a response of the server. If it takes long, the person is told where the request may wait: few tools say
/// anything then. The caller pins it, because a future that holds another by value has room for it twice.
async fn tell_of_silence<T>(
    state: &ProxyState,
    method: &Method,
    destination: &Destination,
    mut response: Pin<&mut impl Future<Output = T>>,
) -> T {
    if let Ok(response) = timeout(SILENCE, &mut response).await {
        return response;
    }
    let (origin, server) = (destination.root().origin(), state.server.base_url());
    state.notice(&format!(
        "{method} {origin}: no response yet. If a person must approve it, it is in the inbox: {server}/app/inbox"
    ));
    response.await
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
) -> Result<Response<Body>, ProxyRefusal> {
    if !destination.is_named_by(request.uri(), request.headers()) {
        let detail = format!("the Host header does not match the connection to {}", destination.authority());
        return Err(ProxyRefusal::new(StatusCode::MISDIRECTED_REQUEST, "host_mismatch", detail));
    }
    if request.method() == Method::CONNECT {
        let detail = "CONNECT within a connection to a host is not supported, also not for a WebSocket over HTTP/2 \
                      (RFC 8441); open the WebSocket over HTTP/1.1";
        return Err(ProxyRefusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail));
    }
    let is_websocket = websocket::is_handshake(&request);
    if is_upgrade(request.headers()) && !is_websocket {
        let detail = "pyxis run carries WebSockets and no other upgrade of a connection";
        return Err(ProxyRefusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail));
    }
    match state.routes.route(destination.root()) {
        Route::Credential(name) => {
            let method = request.method().clone();
            let sent = pin!(async {
                if is_websocket {
                    websocket::open(state, name, destination, request).await
                } else {
                    forward(state, name, destination, request).await
                }
            });
            tell_of_silence(state, &method, destination, sent).await
        }
        Route::Unknown if is_websocket => {
            let detail = "a WebSocket to a host without a credential must come through CONNECT";
            Err(ProxyRefusal::new(StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported", detail))
        }
        Route::Ambiguous(names) => Err(ambiguous(destination, &names)),
        Route::Unknown => plain_http::answer(state, destination, request).await,
    }
}

async fn forward(
    state: &ProxyState,
    credential: &str,
    destination: &Destination,
    request: Request<Incoming>,
) -> Result<Response<Body>, ProxyRefusal> {
    let (head, body) = request.into_parts();
    let (url, headers) = outgoing(destination, &head.uri, head.headers)?;
    let sent = state.server.forward(credential, &head.method, &url, headers, boxed(body)).await;
    pending::to_response(sent.map_err(|error| error.refusal(state.server.base_url()))?).await
}

fn ambiguous(destination: &Destination, names: &[&str]) -> ProxyRefusal {
    let host = destination.authority();
    let detail = format!(
        "several credentials allow {host}: {}. Choose one with --use {host}={}",
        names.join(", "),
        names.first().copied().unwrap_or("CREDENTIAL"),
    );
    ProxyRefusal::new(StatusCode::FORBIDDEN, "credential_ambiguous", detail)
}

/// True for a request to speak another protocol on the connection, except HTTP/2, which clients offer and do not need.
fn is_upgrade(headers: &HeaderMap) -> bool {
    let names = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    headers.contains_key(CONNECTION)
        && names.flat_map(|value| value.split(',')).any(|name| name.trim() != "h2c")
}
