//! What stands before the router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use pyxis_gateway as gateway;
use pyxis_http::client_ip::Peer;
use pyxis_http::request_id::{Access, Source};
use pyxis_http::serve::Incoming;
use pyxis_scoring as scoring;
use pyxis_scoring::PlainScore;
use tower::{Service, ServiceExt};

use crate::app::App;

/// Where request ids come from.
pub(crate) fn source(app: &App) -> Source {
    Source { clock: Arc::clone(&app.gateway.clock), entropy: Arc::clone(&app.gateway.entropy) }
}

/// Takes `/forward` and plain requests for a score past the router: its layers and boxes cost a busy
/// server a tenth of its time.
///
/// Every request clones it. So its parts are behind one pointer: each has a counter that all cores change.
#[derive(Clone)]
pub(crate) struct Front {
    parts: Arc<Parts>,
    peer: Peer,
}

/// What the fronts of all connections share.
pub(crate) struct Parts {
    router: Router,
    /// `None` where the proxy is not served.
    gateway: Option<gateway::State>,
    /// `None` where scoring is not served.
    scoring: Option<scoring::State>,
    source: Source,
}

impl Parts {
    pub(crate) fn new(app: &App, router: Router) -> Arc<Self> {
        let gateway = app.config.surfaces.proxy.then(|| app.gateway.clone());
        let scoring = app.config.surfaces.scoring.then(|| app.scoring.clone());
        Arc::new(Self { router, gateway, scoring, source: source(app) })
    }

    /// Everything through the router.
    pub(crate) fn routed_only(app: &App, router: Router) -> Arc<Self> {
        Arc::new(Self { router, gateway: None, scoring: None, source: source(app) })
    }

    /// What answers a connection.
    pub(crate) fn front(self: &Arc<Self>, peer: Peer) -> Front {
        Front { parts: Arc::clone(self), peer }
    }

    async fn forward(&self, request: Incoming, peer: Peer) -> Response {
        let Some(gateway) = &self.gateway else { return self.routed(request, peer).await };
        let access = Access::begin(request.method(), || gateway::FORWARD.to_owned());
        access.end(&self.source, gateway::forward(gateway, request.map(Body::new)).await)
    }

    async fn score(&self, request: Incoming, peer: Peer, asked: PlainScore) -> Response {
        let Some(scoring) = &self.scoring else { return self.routed(request, peer).await };
        let access = Access::begin(request.method(), || scoring::SCORE.to_owned());
        access.end(&self.source, asked.answer(scoring, request.headers()).await)
    }

    async fn routed(&self, mut request: Incoming, peer: Peer) -> Response {
        request.extensions_mut().insert(peer);
        let answer = Box::pin(self.router.clone().oneshot(request)).await;
        answer.unwrap_or_else(|never| match never {})
    }
}

impl Service<Incoming> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Incoming) -> Self::Future {
        let (parts, peer) = (Arc::clone(&self.parts), self.peer);
        if request.uri().path() == gateway::FORWARD {
            return Box::pin(async move { Ok(parts.forward(request, peer).await) });
        }
        match PlainScore::of(&request) {
            Some(asked) => Box::pin(async move { Ok(parts.score(request, peer, asked).await) }),
            None => Box::pin(async move { Ok(parts.routed(request, peer).await) }),
        }
    }
}
