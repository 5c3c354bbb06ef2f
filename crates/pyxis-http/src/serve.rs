//! Serving until told to stop, then draining.
//!
//! Heads of requests are looked through before hyper parses them ([`head`]), and what two servers could read
//! otherwise is refused. Limits on heads, and on the time that heads and bodies may take, are here, too.

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
use self::wire::{ScreenedStream, Shared};
use crate::client_ip::Peer;

pub use gate::RequestBody;
pub use refusal::{MAX_HEADER_BYTES, MAX_HEADER_FIELDS, MAX_URI_BYTES};

/// How long open requests may take to finish after the stop.
pub const DRAIN: Duration = Duration::from_secs(30);

/// Longest time for a request head, and until a client begins its first one.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Longest silence within a request body that is waited for.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest time between requests on an HTTP/1 connection.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

/// Largest head announced to HTTP/2 clients, in bytes. Beyond it the library refuses without a problem body; up to it
/// [`MAX_HEADER_BYTES`] is enforced here.
const HTTP2_HEADER_LIST: u32 = 512 * 1024;

/// A request as it comes in.
pub type Incoming = http::Request<RequestBody>;

/// Serves `service` (a router, say) on `listener` until `stop` resolves, then lets open requests finish.
///
/// Returns whether everything finished within [`DRAIN`].
pub async fn serve<S>(listener: TcpListener, service: S, stop: impl Future<Output = ()>) -> bool
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let boxed = |request: Incoming| request.map(axum::body::Body::new);
    serve_peers(listener, |_| service.clone().map_request(boxed).map_future(Box::pin), stop).await
}

/// The same where each connection gets a service of its own, made for its other end.
pub async fn serve_peers<S>(
    listener: TcpListener,
    service: impl Fn(Peer) -> S,
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
        // Without this, small answers wait for the client's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        let shared = Arc::new(Shared::default());
        let gate = Gate::new(service(Peer::accepted(peer)), Arc::clone(&shared));
        let connection = builder
            .serve_connection_with_upgrades(
                TokioIo::new(ScreenedStream::new(stream, shared)),
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

/// A failed accept is the client's doing, or means that descriptors have run out; the latter must
/// not spin.
async fn pause_after(error: &io::Error) {
    tracing::debug!(%error, "accept failed");
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
