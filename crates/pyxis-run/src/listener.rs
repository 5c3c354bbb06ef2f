//! The listener: authorizes each request of the command and finds the way for it.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pyxis_core::clock::Clock;
use pyxis_core::entropy::Entropy;
use pyxis_core::secret::SecretString;
use pyxis_net::Client;
use pyxis_net::body::{Body, empty};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::authority::{AuthorityError, AuthorityParts, RunAuthority};
use crate::destination::Destination;
use crate::identity::ProxyIdentity;
use crate::own_pages::OwnPages;
use crate::refusal::{ProxyRefusal, RefusalForm};
use crate::routes::{Route, Routes};
use crate::server::Server;
use crate::state::{HANDSHAKE, Notices, OtherHosts, ProxyState};
use crate::{exchange, intercept, plain_http, tunnel};

/// Most connections at a time.
const MAX_CONNECTIONS: usize = 1024;

/// Dependencies of the proxy.
pub struct ProxyParts {
    /// The Pyxis server.
    pub server: Server,
    /// The credentials by host.
    pub routes: Routes,
    /// Treatment of other hosts.
    pub others: OtherHosts,
    /// The way to other hosts, with its egress guard.
    pub egress: Client,
    /// Address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Host and port by which clients reach the proxy, if that is not the address it listens on.
    pub address: Option<Authority>,
    /// True to serve the certificate at `/ca.pem` and the health at `/healthz` to everyone who reaches the listener.
    pub has_pages: bool,
    /// Token and authority's key.
    pub identity: ProxyIdentity,
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// Source of serial numbers.
    pub entropy: Arc<dyn Entropy>,
    /// Prints a line for the person, about refusals that tools do not show.
    pub notice: fn(&str),
}

/// Reason that the proxy cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// Address from the configuration.
        address: SocketAddr,
        /// The reason.
        source: std::io::Error,
    },
    /// No certificate authority.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

/// A running proxy. It ends with this value.
pub struct Proxy {
    state: Arc<ProxyState>,
    listening: SocketAddr,
    address: Authority,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts to listen.
    pub async fn start(parts: ProxyParts) -> Result<Self, ProxyError> {
        let failed = |source| ProxyError::Listen { address: parts.listen, source };
        let listener = TcpListener::bind(parts.listen).await.map_err(failed)?;
        let listening = listener.local_addr().map_err(failed)?;
        let address = match parts.address {
            Some(address) => address,
            None => listening.to_string().parse().map_err(|_| failed(ErrorKind::AddrNotAvailable.into()))?,
        };
        let ProxyIdentity { token, key, life } = parts.identity;
        let authority_parts = AuthorityParts { key, life, clock: parts.clock, entropy: parts.entropy };
        let authority = RunAuthority::new(&parts.routes.domains(), authority_parts)?;
        let state = Arc::new(ProxyState {
            server: parts.server,
            routes: parts.routes,
            others: parts.others,
            egress: parts.egress,
            authority,
            token,
            notices: Notices::new(parts.notice),
            pages: parts.has_pages.then(|| OwnPages::new(&address)),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { state, listening, address, accepting })
    }

    /// The address that the proxy listens on.
    pub fn listening(&self) -> SocketAddr {
        self.listening
    }

    /// Host and port by which clients reach the proxy.
    pub(crate) fn address(&self) -> &Authority {
        &self.address
    }

    /// URL for clients, with the token.
    pub fn url(&self) -> SecretString {
        SecretString::new(format!("http://{}:x@{}", self.state.token.expose(), self.address))
    }

    /// Says at `/healthz` that clients can use the proxy, now that they find its files.
    pub fn ready(&self) {
        if let Some(pages) = &self.state.pages {
            pages.ready();
        }
    }

    /// The credentials by host.
    pub fn routes(&self) -> &Routes {
        &self.state.routes
    }

    /// The authority's certificate, in PEM.
    pub fn authority_pem(&self) -> String {
        self.state.authority.pem()
    }

    /// The authority's certificate, in DER.
    pub fn authority_der(&self) -> &[u8] {
        self.state.authority.der()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<ProxyState>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    serve(state, stream).await;
                    drop(place);
                });
            }
            // Too many open files, for example: those that end make room.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn serve(state: Arc<ProxyState>, stream: TcpStream) {
    // A small answer should not wait for the next one.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(answer(&state, request).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    let serving = server.serve_connection(TokioIo::new(stream), service).with_upgrades();
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection of the command ended early");
    }
}

async fn answer(state: &Arc<ProxyState>, mut request: Request<Incoming>) -> Response<Body> {
    let form = RefusalForm::accepted(request.headers());
    if let Some(pages) = state.pages.as_ref().filter(|pages| pages.owns(request.method(), request.uri())) {
        return pages.answer(request.method(), request.uri(), form, &state.authority.pem());
    }
    if !state.admits(request.headers()) {
        let detail = "this proxy serves only clients that send the token of HTTPS_PROXY";
        let status = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        return ProxyRefusal::new(status, "proxy_authorization_required", detail).into_response(form);
    }
    if request.method() == Method::CONNECT {
        return connect(state, &mut request).await.unwrap_or_else(|refusal| {
            // Few tools show the body of a refused CONNECT.
            state.notice(&refusal.detail);
            refusal.into_response(form)
        });
    }
    let Some(destination) = Destination::of_absolute(request.uri()) else {
        let detail = "this is a proxy: send CONNECT, or a request with a whole http:// or https:// URL";
        return ProxyRefusal::new(StatusCode::BAD_REQUEST, "malformed_request", detail).into_response(form);
    };
    exchange::answer(state, &destination, request).await
}

async fn connect(
    state: &Arc<ProxyState>,
    request: &mut Request<Incoming>,
) -> Result<Response<Body>, ProxyRefusal> {
    let destination = Destination::of_connect(request.uri()).ok_or_else(|| {
        ProxyRefusal::new(StatusCode::BAD_REQUEST, "malformed_request", "CONNECT needs a host and a port")
    })?;
    match (state.routes.route(destination.root()), state.others) {
        // Within the tunnel, an explanation reaches the person; so an ambiguous host is refused there.
        (Route::Credential(_) | Route::Ambiguous(_), _) => {
            let upgraded = hyper::upgrade::on(request);
            let state = Arc::clone(state);
            tokio::spawn(async move {
                if let Ok(stream) = upgraded.await {
                    intercept::serve(state, destination, TokioIo::new(stream)).await;
                }
            });
        }
        (Route::Unknown, OtherHosts::Tunnel) => tunnel::open(state, &destination, request).await?,
        (Route::Unknown, OtherHosts::Refuse) => return Err(plain_http::no_credential(&destination)),
    }
    Ok(Response::new(empty()))
}
