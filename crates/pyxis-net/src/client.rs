//! The HTTP client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls_pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tracing::Instrument;
use tracing::field::Empty;

use crate::body::{Body, BoxError};
use crate::connect::{Connector, Dialer};
use crate::error::Error;
use crate::guard::{AddressVerdict, Guard, HostPort};
use crate::identity::Identity;
use crate::resolve::{CachingResolver, Resolve, SystemResolver};
use crate::send::{self, Connections, MAX_ANSWER_HEAD, MAX_ANSWER_LINES};
use crate::tls;

/// Configuration of a [`Client`]. Start from [`ClientConfig::new`] and change individual fields.
#[derive(Clone)]
pub struct ClientConfig {
    /// Decides which addresses may be dialed.
    pub guard: Guard,
    /// DNS resolver. Default: the machine's resolver.
    pub resolver: Arc<dyn Resolve>,
    /// Trusted roots in addition to the public ones (`PX_EGRESS_CA_FILE`, see [`tls::roots_from_pem`]).
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Timeout for resolving, dialing and the TLS handshake together. Default: 10 s.
    pub connect_timeout: Duration,
    /// Timeout for dialing one of several addresses. Default: 5 s.
    pub address_timeout: Duration,
    /// Time for which an idle connection is kept. Default: 90 s.
    pub pool_idle: Duration,
    /// Time for which [`Client::check`] caches DNS answers. Default: 5 s.
    pub check_ttl: Duration,
    /// DNS timeout of [`Client::check`]. Default: 2 s.
    pub check_timeout: Duration,
}

impl ClientConfig {
    /// The default configuration with `guard`.
    pub fn new(guard: Guard) -> Self {
        Self {
            guard,
            resolver: Arc::new(SystemResolver),
            extra_roots: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            address_timeout: Duration::from_secs(5),
            pool_idle: Duration::from_secs(90),
            check_ttl: Duration::from_secs(5),
            check_timeout: Duration::from_secs(2),
        }
    }
}

/// A pooled HTTP/1.1 and HTTP/2 client behind the egress guard. Cheap to clone; clones share the pool. Ignores proxy
/// settings and does not follow redirects.
#[derive(Clone)]
pub struct Client {
    zone: Arc<Zone>,
    private: Arc<Zone>,
    config: Arc<ClientConfig>,
    reuse: Reuse,
}

/// Use that requests make of connections.
#[derive(Clone, Copy)]
enum Reuse {
    /// An idle connection, if there is one.
    Pooled,
    /// A new connection for each request.
    Fresh,
    /// A new connection for each request, over HTTP/1.1.
    Upgrade,
}

/// A guard and the connections that it admitted. The pool looks up connections by scheme, host and port. Zones share no
/// connections, so a connection serves only the name for which it was admitted.
struct Zone {
    guard: Guard,
    remembered: CachingResolver,
    check_timeout: Duration,
    connector: Connector,
    pooled: Connections,
    fresh: Connections,
    upgrade: Connections,
}

/// Maximum idle connections per origin.
const IDLE_CONNECTIONS: usize = 128;
/// Maximum header section that HTTP/2 reads, in bytes. It is larger than the accepted size because the library ends the
/// stream beyond it without naming headers as the cause. Below it, Pyxis reports the cause.
const HEADER_LIST: u32 = 2 * 1024 * 1024;
/// HTTP/1 buffer for an incomplete head: the largest head plus a reserve for the status line.
const READ_BUFFER: usize = MAX_ANSWER_HEAD + 64 * 1024;

impl Client {
    /// Creates a client without opening a connection. Fails if an extra root is not a usable certificate.
    pub fn new(config: &ClientConfig) -> Result<Self, tls::RootsError> {
        let tls = tls::client_config(&config.extra_roots)?;
        let zone = |guard: &Guard| Arc::new(Zone::new(config, guard, tls.clone()));
        let config = Arc::new(config.clone());
        Ok(Self {
            zone: zone(&config.guard),
            private: zone(&config.guard.with_private()),
            config: Arc::clone(&config),
            reuse: Reuse::Pooled,
        })
    }

    /// A client for operator-configured addresses, such as a sidecar's. Admits loopback and private networks. Does not
    /// share connections with this client.
    #[must_use]
    pub fn private(&self) -> Self {
        Self { zone: self.private.clone(), ..self.clone() }
    }

    /// A client that opens a new connection for each request. A host can close an idle connection just as a request
    /// arrives, which leaves unclear whether the request was executed; a new connection avoids that.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self { reuse: Reuse::Fresh, ..self.clone() }
    }

    /// A client for requests that change the protocol of their connection, such as the handshake of a WebSocket. Each has
    /// a new connection over HTTP/1.1, which is in the extensions of a 101 ([`hyper::upgrade::on`]).
    #[must_use]
    pub fn for_upgrade(&self) -> Self {
        Self { reuse: Reuse::Upgrade, ..self.clone() }
    }

    /// A client that presents a certificate to hosts that request one. Does not share connections with this client.
    pub fn with_identity(&self, identity: &Identity) -> Result<Self, tls::RootsError> {
        let tls = tls::client_config(&self.config.extra_roots)?;
        let tls = identity.shown_by(&tls);
        let zone = |zone: &Zone| Arc::new(Zone::new(&self.config, &zone.guard, tls.clone()));
        Ok(Self { zone: zone(&self.zone), private: zone(&self.private), ..self.clone() })
    }

    /// Asks the guard before anything is stored or sent. Fails only with [`Error::Blocked`]. A name that does not
    /// resolve in time passes here and fails at the dial, where the guard judges a new DNS answer.
    pub async fn check(&self, target: &HostPort) -> Result<(), Error> {
        let zone = &*self.zone;
        let name_refused = match zone.guard.check_literal_or_form(target) {
            AddressVerdict::Refused(reason) => return Err(reason.into()),
            AddressVerdict::Literal(_) => return Ok(()),
            AddressVerdict::Name => None,
            AddressVerdict::NameInsideAllowOnly(reason) => Some(reason),
        };
        match timeout(zone.check_timeout, zone.remembered.resolve(target.host())).await {
            Ok(Ok(resolved)) => zone.guard.admit(target, &resolved).map(drop).map_err(Error::from),
            Ok(Err(_)) | Err(_) => name_refused.map_or(Ok(()), |reason| Err(reason.into())),
        }
    }

    /// The part of [`Client::check`] that needs no DNS.
    pub fn check_form(&self, target: &HostPort) -> Result<(), Error> {
        match self.zone.guard.check_literal_or_form(target) {
            AddressVerdict::Refused(reason) => Err(reason.into()),
            AddressVerdict::Literal(_) | AddressVerdict::Name | AddressVerdict::NameInsideAllowOnly(_) => {
                Ok(())
            }
        }
    }

    /// True if the resolver answers a query for a name that every machine has.
    pub async fn resolver_answers(&self) -> bool {
        let zone = &*self.zone;
        matches!(timeout(zone.check_timeout, zone.remembered.resolve("localhost")).await, Ok(Ok(_)))
    }

    /// Opens a connection whose content is the caller's matter, as for CONNECT. The guard judges it like a request's.
    pub async fn tunnel(&self, target: &HostPort) -> Result<TcpStream, Error> {
        self.zone.connector.open(target).await
    }

    /// Opens a connection to a mail server of the operator, on which [`Client::start_tls`] turns on TLS. The guard judges
    /// it like a request's, but admits the ports of mail.
    pub async fn mail_tunnel(&self, target: &HostPort) -> Result<TcpStream, Error> {
        self.zone.connector.open_mail(target).await
    }

    /// Opens a TLS connection whose content is the caller's matter. The guard judges it like a request's.
    pub async fn tls_tunnel(
        &self,
        target: &HostPort,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, Error> {
        self.zone.connector.open_tls(target).await
    }

    /// Turns on TLS on a connection from [`Client::mail_tunnel`], for protocols other than HTTP. `target` is the one that was
    /// dialed; the certificate must name it. Bytes that were read before must not be used after this.
    pub async fn start_tls(
        &self,
        target: &HostPort,
        stream: TcpStream,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, Error> {
        self.zone.connector.start_tls(target, stream).await
    }

    /// Sends `request` and returns the response head; the body remains to be read.
    ///
    /// The URI must be absolute. Its path and query are sent byte for byte. `Host` comes from the URI, and
    /// `Content-Length` or `Transfer-Encoding` from the body's size hint, regardless of the headers. All other headers
    /// are sent unchanged, so the caller must remove connection headers. Redirects are returned like any other
    /// response.
    ///
    /// `first_byte` limits the silence before the response starts. It covers connecting, and waiting after the last
    /// piece of the request body was sent. It does not cover the time of a long upload, or time in which the caller has
    /// no next piece. The request is never sent twice; [`Error::was_sent`] says whether it may have been sent once.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        first_byte: Duration,
    ) -> Result<Response<Incoming>, Error>
    where
        B: http_body::Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let span = tracing::trace_span!(
            target: "pyxis::trace",
            "upstream",
            otel.kind = "client",
            otel.status_code = Empty,
            http.request.method = request.method().as_str(),
            server.address = request.uri().host(),
            server.port = request.uri().port_u16(),
            http.response.status_code = Empty,
        );
        let connections = match self.reuse {
            Reuse::Pooled => &self.zone.pooled,
            Reuse::Fresh => &self.zone.fresh,
            Reuse::Upgrade => &self.zone.upgrade,
        };
        let sending = send::send(connections, send::watched(request), first_byte);
        let answer = sending.instrument(span.clone()).await;
        match &answer {
            Ok(answer) => span.record("http.response.status_code", answer.status().as_u16()),
            Err(_) => span.record("otel.status_code", "ERROR"),
        };
        answer
    }
}

impl Zone {
    fn new(config: &ClientConfig, guard: &Guard, tls: Arc<rustls::ClientConfig>) -> Self {
        let connector = |tls| {
            Connector::new(Dialer {
                guard: guard.clone(),
                resolver: config.resolver.clone(),
                tls,
                connect_timeout: config.connect_timeout,
                address_timeout: config.address_timeout,
            })
        };
        let upgrade = connector(tls::without_http2(&tls));
        let connector = connector(tls);
        Self {
            guard: guard.clone(),
            remembered: CachingResolver::new(config.resolver.clone(), config.check_ttl),
            check_timeout: config.check_timeout,
            pooled: Connections {
                http: pool(connector.clone(), config.pool_idle, IDLE_CONNECTIONS),
                idle: Some(config.pool_idle),
            },
            fresh: Connections { http: pool(connector.clone(), config.pool_idle, 0), idle: None },
            upgrade: Connections { http: pool(upgrade, config.pool_idle, 0), idle: None },
            connector,
        }
    }
}

/// Keeps up to `most` idle connections per origin. With 0, every request opens a new connection.
fn pool(connector: Connector, idle: Duration, most: usize) -> legacy::Client<Connector, Body> {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(idle)
        .pool_max_idle_per_host(most)
        .http1_max_headers(MAX_ANSWER_LINES)
        .http1_max_buf_size(READ_BUFFER)
        .http2_max_header_list_size(HEADER_LIST)
        .http2_keep_alive_interval(Duration::from_secs(20))
        // The other side can close a pooled connection just as a request is queued on it. hyper then returns the
        // request, but only if it was still queued with nothing encoded (`TrySendError::take_message`). Only such a
        // request, intended for a reused connection, is retried. Once one byte has reached the socket, the request is
        // never returned and ends as `Error::Closed { sent: true }`. So this cannot send twice.
        .retry_canceled_requests(true)
        .build(connector)
}
