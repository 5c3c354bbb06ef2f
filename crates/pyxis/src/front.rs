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
#[derive(Clone)]
pub(crate) struct Front {
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
        Self { router, gateway, scoring, source: source(app) }
    }

    /// Everything through the router.
    pub(crate) fn routed(app: &App, router: Router) -> Self {
        Self { router, gateway: None, scoring: None, source: source(app) }
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
        if let Some(gateway) = &self.gateway
            && request.uri().path() == gateway::FORWARD
        {
            return Box::pin(forward(gateway.clone(), self.source.clone(), request));
        }
        if let Some(scoring) = &self.scoring
            && let Some(asked) = PlainScore::of(&request)
        {
            return Box::pin(score(scoring.clone(), self.source.clone(), request, asked));
        }
        Box::pin(self.router.clone().oneshot(request))
    }
}

async fn forward(gateway: gateway::State, source: Source, request: Request) -> Result<Response, Infallible> {
    let access = Access::begin(request.method(), || gateway::FORWARD.to_owned());
    Ok(access.end(&source, gateway::forward(&gateway, request).await))
}

async fn score(
    scoring: scoring::State,
    source: Source,
    request: Request,
    asked: PlainScore,
) -> Result<Response, Infallible> {
    let access = Access::begin(request.method(), || scoring::SCORE.to_owned());
    Ok(access.end(&source, asked.answer(&scoring, request.headers()).await))
}
