//! The HTTP client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls_pki_types::CertificateDer;
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

/// How a [`Client`] behaves. Start from [`ClientConfig::new`] and change what matters.
#[derive(Clone)]
pub struct ClientConfig {
    /// What may be dialled.
    pub guard: Guard,
    /// Who turns names into addresses; the machine's resolver by default.
    pub resolver: Arc<dyn Resolve>,
    /// Roots trusted besides the public ones (`PX_EGRESS_CA_FILE`, see [`tls::roots_from_pem`]).
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// For resolving, dialling and the TLS handshake together; 10 s.
    pub connect_timeout: Duration,
    /// For dialling one address of several; 5 s.
    pub address_timeout: Duration,
    /// How long an unused connection is kept; 90 s.
    pub pool_idle: Duration,
    /// How long [`Client::check`] may use an answer of the resolver; 5 s.
    pub check_ttl: Duration,
    /// How long [`Client::check`] waits for the resolver; 2 s.
    pub check_timeout: Duration,
}

impl ClientConfig {
    /// The defaults, with `guard`.
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

/// A pooled HTTP/1.1 and HTTP/2 client behind the egress guard. Cheap to clone; clones share the
/// pool. It reads no proxy settings and follows no redirect.
#[derive(Clone)]
pub struct Client {
    zone: Arc<Zone>,
    private: Arc<Zone>,
    config: Arc<ClientConfig>,
    /// True where every request opens its own connection.
    is_fresh: bool,
}

/// A guard and the connections that it admitted. The pool finds a connection by scheme, host and
/// port, and zones share none, so a connection serves only the name for which it was admitted.
struct Zone {
    guard: Guard,
    remembered: CachingResolver,
    check_timeout: Duration,
    pooled: Connections,
    fresh: Connections,
}

/// Unused connections kept per origin.
const IDLE_CONNECTIONS: usize = 128;
/// Header section of an answer that HTTP/2 reads at all, in bytes. Larger than what is accepted: the library ends the
/// stream beyond it without a word about headers, and up to it we say what is wrong.
const HEADER_LIST: u32 = 2 * 1024 * 1024;
/// Buffer of HTTP/1 for an incomplete head: the largest head, its status line, and a reserve.
const READ_BUFFER: usize = MAX_ANSWER_HEAD + 64 * 1024;

impl Client {
    /// A client. Fails if an extra root is not a usable certificate. Opens no connection.
    pub fn new(config: &ClientConfig) -> Result<Self, tls::RootsError> {
        let tls = tls::client_config(&config.extra_roots)?;
        let zone = |guard| Arc::new(Zone::new(config, guard, tls.clone()));
        let config = Arc::new(config.clone());
        Ok(Self {
            zone: zone(config.guard.clone()),
            private: zone(config.guard.with_private()),
            config: Arc::clone(&config),
            is_fresh: false,
        })
    }

    /// The client for addresses that the operator configured, such as a sidecar's: loopback and
    /// private networks are admitted. It has connections of its own.
    #[must_use]
    pub fn private(&self) -> Self {
        Self { zone: self.private.clone(), ..self.clone() }
    }

    /// The client whose requests each open a connection of their own. No idle connection can then be closed by the
    /// host at the moment the request arrives, which would leave open whether it was carried out.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self { is_fresh: true, ..self.clone() }
    }

    /// The client that shows a certificate to whoever asks for one. It has connections of its own.
    pub fn with_identity(&self, identity: &Identity) -> Result<Self, tls::RootsError> {
        let tls = tls::client_config(&self.config.extra_roots)?;
        let tls = identity.shown_by(&tls);
        let zone = |zone: &Zone| Arc::new(Zone::new(&self.config, zone.guard.clone(), tls.clone()));
        Ok(Self { zone: zone(&self.zone), private: zone(&self.private), ..self.clone() })
    }

    /// Asks the guard before anything is stored or sent. Only ever fails with [`Error::Blocked`]: a
    /// name that does not resolve (in time) passes here and fails at the dial, where the guard is
    /// asked again about a fresh answer.
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

    /// What [`Client::check`] can say without asking the resolver.
    pub fn check_form(&self, target: &HostPort) -> Result<(), Error> {
        match self.zone.guard.check_literal_or_form(target) {
            AddressVerdict::Refused(reason) => Err(reason.into()),
            AddressVerdict::Literal(_) | AddressVerdict::Name | AddressVerdict::NameInsideAllowOnly(_) => {
                Ok(())
            }
        }
    }

    /// True if the resolver answers at all, asked for a name that every machine has.
    pub async fn resolver_answers(&self) -> bool {
        let zone = &*self.zone;
        matches!(timeout(zone.check_timeout, zone.remembered.resolve("localhost")).await, Ok(Ok(_)))
    }

    /// Sends `request` and returns the head of the response, with its body still to be read.
    ///
    /// The URI is absolute; its path and query go out byte for byte. `Host` comes from the URI and
    /// `Content-Length` or `Transfer-Encoding` from the body's size hint, whatever the headers say.
    /// All other headers go out as given, so connection headers are the caller's to remove. Redirects
    /// are answers like any other.
    ///
    /// `first_byte` limits the silence until the response begins: connecting counts, and so does
    /// waiting after the last piece of the request body was taken, but not the time that a long
    /// upload needs, nor that in which the caller has no next piece of it. The request is never sent twice; [`Error::was_sent`] tells whether it may have
    /// been sent once.
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
        let connections = if self.is_fresh { &self.zone.fresh } else { &self.zone.pooled };
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
    fn new(config: &ClientConfig, guard: Guard, tls: Arc<rustls::ClientConfig>) -> Self {
        let connector = Connector::new(Dialer {
            guard: guard.clone(),
            resolver: config.resolver.clone(),
            tls,
            connect_timeout: config.connect_timeout,
            address_timeout: config.address_timeout,
        });
        Self {
            guard,
            remembered: CachingResolver::new(config.resolver.clone(), config.check_ttl),
            check_timeout: config.check_timeout,
            pooled: Connections {
                http: pool(connector.clone(), config.pool_idle, IDLE_CONNECTIONS),
                idle: Some(config.pool_idle),
            },
            fresh: Connections { http: pool(connector, config.pool_idle, 0), idle: None },
        }
    }
}

/// `most` idle connections are kept per origin; with none, every request opens its own.
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
        // A pooled connection can be closed by the other side at the moment a request is queued on
        // it. hyper then gives the request back, but only if it was still in the queue with nothing
        // of it encoded (`TrySendError::take_message`), and only such a request, meant for a reused
        // connection, is tried again. A request of which one byte was handed to the socket is never
        // given back and ends as `Error::Closed { sent: true }`. So this cannot send twice.
        .retry_canceled_requests(true)
        .build(connector)
}
