//! What stands before the router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use pyxis_gateway as gateway;
use pyxis_http::request_id::{Access, Source};
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
pub(crate) struct Front(Arc<Parts>);

struct Parts {
    router: Router,
    /// `None` where the proxy is not served.
    gateway: Option<gateway::State>,
    /// `None` where scoring is not served.
    scoring: Option<scoring::State>,
    source: Source,
}

impl Front {
    pub(crate) fn new(app: &App, router: Router) -> Self {
        let gateway = app.config.surfaces.proxy.then(|| app.gateway.clone());
        let scoring = app.config.surfaces.scoring.then(|| app.scoring.clone());
        Self(Arc::new(Parts { router, gateway, scoring, source: source(app) }))
    }

    /// Everything through the router.
    pub(crate) fn routed(app: &App, router: Router) -> Self {
        Self(Arc::new(Parts { router, gateway: None, scoring: None, source: source(app) }))
    }
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let parts = Arc::clone(&self.0);
        if request.uri().path() == gateway::FORWARD {
            return Box::pin(async move { Ok(parts.forward(request).await) });
        }
        match PlainScore::of(&request) {
            Some(asked) => Box::pin(async move { Ok(parts.score(request, asked).await) }),
            None => Box::pin(parts.router.clone().oneshot(request)),
        }
    }
}

impl Parts {
    async fn forward(&self, request: Request) -> Response {
        let Some(gateway) = &self.gateway else { return self.routed(request).await };
        let access = Access::begin(request.method(), || gateway::FORWARD.to_owned());
        access.end(&self.source, gateway::forward(gateway, request).await)
    }

    async fn score(&self, request: Request, asked: PlainScore) -> Response {
        let Some(scoring) = &self.scoring else { return self.routed(request).await };
        let access = Access::begin(request.method(), || scoring::SCORE.to_owned());
        access.end(&self.source, asked.answer(scoring, request.headers()).await)
    }

    async fn routed(&self, request: Request) -> Response {
        let answer = Box::pin(self.router.clone().oneshot(request)).await;
        answer.unwrap_or_else(|never| match never {})
    }
}
