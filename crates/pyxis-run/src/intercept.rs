//! Tunnels to hosts with a credential: they end here, and their requests are read.

use std::convert::Infallible;
use std::io::Cursor;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use pyxis_core::target::Host;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join, split};
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;

use crate::authority::refusing_config;
use crate::destination::Destination;
use crate::exchange;
use crate::state::{HANDSHAKE, ProxyState};

/// First byte of a TLS connection: a record of the handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// Serves a tunnel to `destination`, with TLS or, if the client sends none, without.
pub(crate) async fn serve<S>(state: Arc<ProxyState>, destination: Destination, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut reader, writer) = split(stream);
    let mut first = [0];
    let read = timeout(HANDSHAKE, reader.read_exact(&mut first)).await;
    if !matches!(read, Ok(Ok(_))) {
        return;
    }
    let stream = join(Cursor::new(first).chain(reader), writer);
    if first == [TLS_HANDSHAKE] {
        serve_tls(state, destination, stream).await;
    } else if let Some(destination) = destination.without_tls() {
        serve_http(state, destination, stream).await;
    }
}

async fn serve_tls<S>(state: Arc<ProxyState>, destination: Destination, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let acceptor = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream);
    let Ok(Ok(start)) = timeout(HANDSHAKE, acceptor).await else { return };
    let name = start.client_hello().server_name().map(str::to_owned);
    let fits = name.as_deref().is_none_or(|name| is_host(destination.host(), name));
    if !fits {
        state.notice(&format!(
            "refused a TLS connection for {} in a tunnel to {}",
            name.unwrap_or_default(),
            destination.authority()
        ));
    }
    let config = if fits { state.authority.server_config(destination.host()) } else { refusing_config() };
    match config {
        Ok(config) => {
            if let Ok(Ok(stream)) = timeout(HANDSHAKE, start.into_stream(config)).await {
                serve_http(state, destination, stream).await;
            }
        }
        Err(error) => state.notice(&format!("{}: {error}", destination.authority())),
    }
}

/// True if the name that a client asks for is the host of its tunnel. For an address, clients ask for no name.
fn is_host(host: &Host, name: &str) -> bool {
    matches!(host, Host::Name(own) if own.eq_ignore_ascii_case(name))
}

async fn serve_http<S>(state: Arc<ProxyState>, destination: Destination, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let (state, destination) = (Arc::clone(&state), destination.clone());
        async move { Ok::<_, Infallible>(exchange::answer(&state, &destination, request).await) }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    server.http2().timer(TokioTimer::new());
    let serving = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection of the command ended early");
    }
}
