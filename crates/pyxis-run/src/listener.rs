//! The listener: authorizes each request of the command and finds the way for it.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::{self, Entropy};
use pyxis_core::secret::SecretString;
use pyxis_net::Client;
use pyxis_net::body::{Body, empty};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::authority::{AuthorityError, RunAuthority};
use crate::destination::Destination;
use crate::refusal::Refusal;
use crate::routes::{Route, Routes};
use crate::server::Server;
use crate::state::{HANDSHAKE, OtherHosts, ProxyState};
use crate::{exchange, intercept, plain, tunnel};

/// Most connections at a time.
const MAX_CONNECTIONS: usize = 1024;

/// Parts of a proxy.
pub struct ProxyParts {
    /// The Pyxis server.
    pub server: Server,
    /// The credentials by host.
    pub routes: Routes,
    /// Treatment of other hosts.
    pub others: OtherHosts,
    /// The way to other hosts, with its egress guard.
    pub egress: Client,
    /// Time of the start.
    pub now: UnixMillis,
    /// Source of the token and of serial numbers.
    pub entropy: Arc<dyn Entropy>,
    /// Prints a line for the person, about refusals that tools do not show.
    pub notice: fn(&str),
}

/// Reason that the proxy cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// No address to listen on.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listen(#[from] std::io::Error),
    /// No certificate authority.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
}

/// A running proxy. It ends with this value.
pub struct Proxy {
    state: Arc<ProxyState>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start(parts: ProxyParts) -> Result<Self, ProxyError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let authority = RunAuthority::new(&parts.routes.domains(), parts.now, Arc::clone(&parts.entropy))?;
        let state = Arc::new(ProxyState {
            server: parts.server,
            routes: parts.routes,
            others: parts.others,
            egress: parts.egress,
            authority,
            token: SecretString::new(entropy::token::<32>(&*parts.entropy, "")),
            notice: parts.notice,
            noticed: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { state, address, accepting })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// URL for the command, with the token of this run.
    pub fn url(&self) -> SecretString {
        SecretString::new(format!("http://{}:x@{}", self.state.token.expose(), self.address))
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
    let asked = request.headers().clone();
    if !state.admits(&asked) {
        let detail = "this proxy serves only the command that pyxis run started";
        let status = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        return Refusal::new(status, "proxy_authorization_required", detail).into_response(&asked);
    }
    if request.method() == Method::CONNECT {
        return connect(state, &mut request).await.unwrap_or_else(|refusal| {
            // Few tools show the body of a refused CONNECT.
            state.notice(&refusal.detail);
            refusal.into_response(&asked)
        });
    }
    let Some(destination) = Destination::of_absolute(request.uri()) else {
        let detail = "this is a proxy: send CONNECT, or a request with a whole http:// or https:// URL";
        return Refusal::new(StatusCode::BAD_REQUEST, "malformed_request", detail).into_response(&asked);
    };
    exchange::answer(state, &destination, request).await
}

async fn connect(
    state: &Arc<ProxyState>,
    request: &mut Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let destination = Destination::of_connect(request.uri()).ok_or_else(|| {
        Refusal::new(StatusCode::BAD_REQUEST, "malformed_request", "CONNECT needs a host and a port")
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
        (Route::Unknown, OtherHosts::Refuse) => return Err(plain::no_credential(&destination)),
    }
    Ok(Response::new(empty()))
}
