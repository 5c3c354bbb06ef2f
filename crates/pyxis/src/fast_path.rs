//! Fast path in front of the router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use pyxis_gateway as gateway;
use pyxis_http::client_ip::Peer;
use pyxis_http::request_id::{Access, RequestIdSource};
use pyxis_http::route_metrics::RouteMetrics;
use pyxis_http::serve::Incoming;
use pyxis_mcp::PlainCalls;
use pyxis_scoring as scoring;
use pyxis_scoring::FastPathScore;
use tower::{Service, ServiceExt};

use crate::app::App;

/// Source of request ids.
pub(crate) fn source(app: &App) -> RequestIdSource {
    RequestIdSource { clock: Arc::clone(&app.gateway.clock), entropy: Arc::clone(&app.gateway.entropy) }
}

/// Response future of a connection's requests.
type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// Routes `/forward`, plain score requests and plain calls of MCP past the router. Its layers and boxes cost a busy
/// server a tenth of its time.
pub(crate) struct FastPath {
    router: Router,
    /// `None` if the proxy is not served.
    gateway: Option<gateway::State>,
    /// `None` if the proxy is not served.
    calls: Option<PlainCalls>,
    /// `None` if scoring is not served.
    scoring: Option<scoring::State>,
    source: RequestIdSource,
    forward_metrics: &'static RouteMetrics,
    call_metrics: &'static RouteMetrics,
    score_metrics: &'static RouteMetrics,
}

impl FastPath {
    /// `calls` is the server that the router has, too.
    pub(crate) fn new(app: &App, router: Router, calls: Option<PlainCalls>) -> Arc<Self> {
        let gateway = app.config.surfaces.proxy.then(|| app.gateway.clone());
        let scoring = app.config.surfaces.scoring.then(|| app.scoring.clone());
        Arc::new(Self { gateway, calls, scoring, ..Self::through(app, router) })
    }

    /// Sends everything through the router.
    pub(crate) fn routed(app: &App, router: Router) -> Arc<Self> {
        Arc::new(Self::through(app, router))
    }

    fn through(app: &App, router: Router) -> Self {
        Self {
            router,
            gateway: None,
            calls: None,
            scoring: None,
            source: source(app),
            forward_metrics: RouteMetrics::for_route(gateway::FORWARD),
            call_metrics: RouteMetrics::for_route(pyxis_mcp::PATH),
            score_metrics: RouteMetrics::for_route(scoring::SCORE),
        }
    }

    /// The service for one connection.
    pub(crate) fn for_peer(self: &Arc<Self>, peer: Peer) -> ConnectionService {
        ConnectionService { fast_path: Arc::clone(self), peer }
    }

    async fn forward(&self, request: Request, peer: Peer) -> Result<Response, Infallible> {
        let Some(gateway) = &self.gateway else { return self.route(request, peer).await };
        let access = Access::begin(request.method(), self.forward_metrics);
        Ok(access.end(&self.source, gateway::forward(gateway, request).await))
    }

    async fn call(&self, request: Request, peer: Peer) -> Result<Response, Infallible> {
        let Some(calls) = &self.calls else { return self.route(request, peer).await };
        let access = Access::begin(request.method(), self.call_metrics);
        match calls.answer(request).await {
            Ok(response) => Ok(access.end(&self.source, response)),
            Err(request) => self.route(request, peer).await,
        }
    }

    async fn score(
        &self,
        request: Incoming,
        peer: Peer,
        asked: FastPathScore,
    ) -> Result<Response, Infallible> {
        let Some(scoring) = &self.scoring else { return self.route(request.map(Body::new), peer).await };
        let access = Access::begin(request.method(), self.score_metrics);
        Ok(access.end(&self.source, asked.answer(scoring, request.headers()).await))
    }

    fn route(&self, mut request: Request, peer: Peer) -> Answering {
        request.extensions_mut().insert(peer);
        Box::pin(self.router.clone().oneshot(request))
    }
}

/// The fast path, for a peer's connection. Every request clones it, so everything that the connections share is behind
/// one pointer, whose counter all cores change.
#[derive(Clone)]
pub(crate) struct ConnectionService {
    fast_path: Arc<FastPath>,
    peer: Peer,
}

impl Service<Incoming> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Incoming) -> Answering {
        let Self { fast_path, peer } = self.clone();
        let body = |request: Incoming| request.map(Body::new);
        match request.uri().path() {
            gateway::FORWARD => {
                return Box::pin(async move { fast_path.forward(body(request), peer).await });
            }
            pyxis_mcp::PATH => return Box::pin(async move { fast_path.call(body(request), peer).await }),
            _ => {}
        }
        match FastPathScore::from_request(&request) {
            Some(asked) => Box::pin(async move { fast_path.score(request, peer, asked).await }),
            None => fast_path.route(body(request), peer),
        }
    }
}
