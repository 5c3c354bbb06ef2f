//! Serving until told to stop, then draining.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::{Service, ServiceExt};

use crate::client_ip::Peer;

/// How long open requests may take to finish after the stop.
pub const DRAIN: Duration = Duration::from_secs(30);

/// How long a client may take to send its request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// A request as it comes in.
pub type Incoming = http::Request<hyper::body::Incoming>;

/// Serves `service` (a router, say) on `listener` until `stop` resolves, then lets open requests finish.
///
/// Returns whether everything finished within [`DRAIN`].
pub async fn serve<S>(listener: TcpListener, service: S, stop: impl Future<Output = ()>) -> bool
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let boxed = |request: Incoming| request.map(axum::body::Body::new);
    serve_peers(listener, |_| service.clone().map_request(boxed), stop).await
}

/// The same where each connection gets a service of its own, made for its other end.
pub async fn serve_peers<S>(
    listener: TcpListener,
    service: impl Fn(Peer) -> S,
    stop: impl Future<Output = ()>,
) -> bool
where
    S: Service<Incoming, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(30)));
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
        let connection = builder
            .serve_connection_with_upgrades(
                TokioIo::new(stream),
                TowerToHyperService::new(service(Peer::accepted(peer))),
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
