//! The connector: resolves, asks the guard, and dials exactly the addresses that the guard admitted.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{Error, InvalidRequest, Wait};
use crate::guard::{AddressVerdict, Guard, HostPort};
use crate::keep_alive::KeepAlive;
use crate::resolve::Resolve;
use crate::tls;

/// Opens connections for one zone. The pool clones it for every request, so its state is behind one pointer.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Dialer>);

/// Connection settings of a zone. A zone with a client certificate has a different TLS configuration, and therefore a
/// separate pool.
pub(crate) struct Dialer {
    pub(crate) guard: Guard,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) tls: Arc<rustls::ClientConfig>,
    /// Timeout until the connection is usable.
    pub(crate) connect_timeout: Duration,
    /// Timeout per address if there are several.
    pub(crate) address_timeout: Duration,
}

impl Connector {
    pub(crate) fn new(dialer: Dialer) -> Self {
        Self(Arc::new(dialer))
    }
}

impl Connector {
    /// A plain connection to `target`, dialed like any other.
    pub(crate) async fn open(&self, target: &HostPort) -> Result<TcpStream, Error> {
        self.open_behind(&self.0.guard, target).await
    }

    /// A plain connection to a mail server, dialed like any other, but also on the ports of mail.
    pub(crate) async fn open_mail(&self, target: &HostPort) -> Result<TcpStream, Error> {
        self.open_behind(&self.0.guard.with_mail_ports(), target).await
    }

    async fn open_behind(&self, guard: &Guard, target: &HostPort) -> Result<TcpStream, Error> {
        let dialer = &self.0;
        let opening = timeout(dialer.connect_timeout, async {
            dialer.dial(&dialer.admitted(guard, target).await?).await
        });
        opening.await.unwrap_or(Err(Error::Timeout(Wait::Connect)))
    }
}

impl Connector {
    /// A TLS connection to `target`, dialed like any other.
    pub(crate) async fn open_tls(&self, target: &HostPort) -> Result<TlsStream<TcpStream>, Error> {
        let dialer = &self.0;
        let opening = timeout(dialer.connect_timeout, async {
            let stream = dialer.dial(&dialer.admitted(&dialer.guard, target).await?).await?;
            let tls = TlsConnector::from(dialer.tls.clone());
            tls.connect(server_name(target.host())?, stream).await.map_err(Error::from_handshake)
        });
        opening.await.unwrap_or(Err(Error::Timeout(Wait::Connect)))
    }
}

impl Connector {
    /// TLS over a connection from [`open_mail`](Self::open_mail) to the same target, without ALPN.
    pub(crate) async fn start_tls(
        &self,
        target: &HostPort,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Error> {
        let dialer = &self.0;
        let name = server_name(target.host())?;
        let handshake = TlsConnector::from(tls::without_alpn(&dialer.tls)).connect(name, stream);
        let handshake = timeout(dialer.connect_timeout, handshake).await;
        handshake.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(Error::from_handshake)
    }
}

impl Dialer {
    async fn connect(&self, origin: Uri) -> Result<TokioIo<Stream>, Error> {
        let target = HostPort::from_uri(&origin).map_err(InvalidRequest::from)?;
        let dialled = timeout(self.connect_timeout, async {
            let stream = self.dial(&self.admitted(&self.guard, &target).await?).await?;
            if origin.scheme_str() == Some("https") {
                self.handshake(&target, stream).await
            } else {
                Ok(Stream::Plain(stream))
            }
        });
        let result = dialled.await.unwrap_or(Err(Error::Timeout(Wait::Connect)));
        if let Err(Error::Blocked(reason)) = &result {
            tracing::debug!(host = target.host(), port = target.port(), %reason, "egress refused");
        }
        result.map(TokioIo::new)
    }

    /// Addresses that `guard` lets be dialed for `target`, from a fresh DNS answer.
    async fn admitted(&self, guard: &Guard, target: &HostPort) -> Result<Vec<SocketAddr>, Error> {
        let resolved = match guard.check_literal_or_form(target) {
            AddressVerdict::Refused(reason) => return Err(reason.into()),
            AddressVerdict::Literal(addr) => return Ok(vec![addr]),
            AddressVerdict::Name | AddressVerdict::NameInsideAllowOnly(_) => {
                self.resolver.resolve(target.host()).await
            }
        };
        let admitted = guard.admit(target, &resolved.map_err(|e| Error::Resolve(Arc::new(e)))?)?;
        if admitted.is_empty() { Err(no_address()) } else { Ok(admitted) }
    }

    /// Connects to the first of `addrs` that answers, tried in order.
    async fn dial(&self, addrs: &[SocketAddr]) -> Result<TcpStream, Error> {
        let mut failure = no_address();
        for addr in addrs {
            #[expect(clippy::disallowed_methods, reason = "the one place that dials, after the guard")]
            let connecting = TcpStream::connect(*addr);
            match timeout(self.address_timeout, connecting).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true).map_err(|e| Error::Connect(Arc::new(e)))?;
                    return Ok(stream);
                }
                Ok(Err(refused)) => failure = Error::Connect(Arc::new(refused)),
                Err(_elapsed) => failure = Error::Timeout(Wait::Connect),
            }
        }
        Err(failure)
    }

    async fn handshake(&self, target: &HostPort, stream: TcpStream) -> Result<Stream, Error> {
        let tls = TlsConnector::from(self.tls.clone()).connect(server_name(target.host())?, stream).await;
        tls.map(|tls| Stream::Tls(Box::new(tls))).map_err(Error::from_handshake)
    }
}

fn no_address() -> Error {
    Error::Resolve(Arc::new(io::Error::new(io::ErrorKind::NotFound, "no address for the name")))
}

/// Name that the certificate must contain.
fn server_name(host: &str) -> Result<ServerName<'static>, Error> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if let Ok(ip) = bare.parse::<IpAddr>() {
        return Ok(ServerName::IpAddress(ip.into()));
    }
    let invalid = |e| Error::Tls(Arc::new(io::Error::new(io::ErrorKind::InvalidInput, e)));
    ServerName::try_from(bare.to_owned()).map_err(invalid)
}

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, origin: Uri) -> Self::Future {
        let dialer = Arc::clone(&self.0);
        Box::pin(async move { dialer.connect(origin).await })
    }
}

/// A connection, with or without TLS.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        match self {
            Self::Tls(tls) if tls.get_ref().1.alpn_protocol() == Some(b"h2") => {
                Connected::new().negotiated_h2()
            }
            Self::Plain(_) | Self::Tls(_) => Connected::new().extra(KeepAlive::new()),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(tcp) => tcp.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
