//! HTTP server with graceful shutdown.
//!
//! Request heads are checked before hyper parses them ([`head`]). Heads that two servers could read differently are
//! refused. Limits on the size of heads, and on the time for heads and bodies, are enforced here, too.

mod body_wait;
mod chunks;
mod gate;
mod head;
mod refusal;
mod wire;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::{Service, ServiceExt};

use self::gate::Gate;
use self::wire::{ConnectionState, ScreenedStream};
use crate::client_ip::Peer;

pub use gate::RequestBody;
pub use refusal::{MAX_HEADER_BYTES, MAX_HEADER_FIELDS, MAX_URI_BYTES};

/// Time that open requests get to finish after shutdown starts.
pub const DRAIN: Duration = Duration::from_secs(30);

/// Time limit for a request head, and for the start of a client's first request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum pause within a request body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Total time that the server waits for the body of one request by default, in addition to [`SLOWEST_BODY`].
pub const BODY_TOTAL: Duration = Duration::from_mins(5);

/// Bytes that extend the total time for a body by a second.
pub const SLOWEST_BODY: u64 = 1024;

/// Maximum idle time between requests on an HTTP/1 connection.
pub const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// Maximum header size announced to HTTP/2 clients, in bytes. The library refuses larger ones without a problem body.
/// Below it, [`MAX_HEADER_BYTES`] is enforced here.
const HTTP2_HEADER_LIST: u32 = 512 * 1024;

/// Request type that services receive.
pub type Incoming = http::Request<RequestBody>;

/// Serves `service`, such as a router, on `listener` until `stop` resolves, then lets open requests finish.
///
/// Returns true if all of them finished within [`DRAIN`].
pub async fn serve<S>(listener: TcpListener, service: S, stop: impl Future<Output = ()>) -> bool
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let boxed = |request: Incoming| request.map(axum::body::Body::new);
    let service = |_| service.clone().map_request(boxed).map_future(Box::pin);
    serve_peers(listener, service, BODY_TOTAL, stop).await
}

/// Like [`serve`], with a separate service per connection, created from the peer's address, and with another total time
/// for bodies.
pub async fn serve_peers<S>(
    listener: TcpListener,
    service: impl Fn(Peer) -> S,
    body_total: Duration,
    stop: impl Future<Output = ()>,
) -> bool
where
    S: Service<Incoming, Response = Response, Error = Infallible, Future: Send + Unpin>
        + Clone
        + Send
        + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(KEEP_ALIVE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .max_header_list_size(HTTP2_HEADER_LIST);
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause_after(&error).await;
                continue;
            }
        };
        // Otherwise small responses wait for the client's delayed acknowledgment.
        let _ = stream.set_nodelay(true);
        let shared = Arc::new(ConnectionState::default());
        let gate = Gate::new(service(Peer::accepted(peer)), Arc::clone(&shared), body_total);
        let connection = builder
            .serve_connection_with_upgrades(
                TokioIo::new(ScreenedStream::new(stream, shared, body_total)),
                TowerToHyperService::new(gate),
            )
            .into_owned();
        let watched = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = watched.await {
                tracing::debug!(%error, "connection ended");
            }
        });
    }
    drop(listener);
    tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_ok()
}

/// Pauses after a failed accept. It is caused either by the client or by running out of file descriptors; in the latter
/// case the loop must not spin.
async fn pause_after(error: &io::Error) {
    tracing::debug!(%error, "accept failed");
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
