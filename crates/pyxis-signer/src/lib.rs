//! The OAuth 1.0a signing sidecar (`docs/reference/signer.md`).
//!
//! A request names a credential and a target in headers. The signer forwards it with a signed `Authorization` header
//! and returns the response without authentication headers. Credentials come from the environment and nothing is
//! stored, so a sidecar needs no database.
#![warn(missing_docs)]

mod credentials;
mod error;
mod forward;
mod headers;
mod health;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use pyxis_core::clock::Clock;
use pyxis_core::entropy::Entropy;
use pyxis_core::secret::SecretString;
use pyxis_http::request_id::{Access, RequestIdSource};
use pyxis_http::route_metrics::{RouteMetrics, UNMATCHED};
use tower::Service;

pub use credentials::{Credentials, Discovered, EnvironmentError};
pub use error::Error;

/// Configuration and dependencies of a signer.
pub struct SignerContext {
    /// Credentials that it may sign with.
    pub credentials: Credentials,
    /// Bearer token that callers must send; `None` requires none.
    pub token: Option<SecretString>,
    /// True if plain http targets are allowed.
    pub allow_http: bool,
    /// HTTP client for all outbound requests.
    pub net: pyxis_net::Client,
    /// Maximum wait for the first byte of a response.
    pub first_byte: Duration,
    /// Maximum silence within a response.
    pub idle: Duration,
    /// Source of signature timestamps.
    pub clock: Arc<dyn Clock>,
    /// Source of signature nonces.
    pub entropy: Arc<dyn Entropy>,
}

/// Shared signer state. Cheap to clone.
#[derive(Clone)]
pub struct State(Arc<SignerContext>);

impl State {
    /// Creates the shared state.
    pub fn new(parts: SignerContext) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for State {
    type Target = SignerContext;

    fn deref(&self) -> &SignerContext {
        &self.0
    }
}

/// The signer as a service. With only two paths it needs no router.
#[derive(Clone)]
pub struct Signer {
    state: State,
    source: RequestIdSource,
}

impl Signer {
    /// Creates a service that shares `state`.
    pub fn new(state: State) -> Self {
        let source = RequestIdSource { clock: Arc::clone(&state.clock), entropy: Arc::clone(&state.entropy) };
        Self { state, source }
    }

    async fn answer(self, request: Request) -> Response {
        let route = match request.uri().path() {
            known @ ("/" | "/health") => known,
            _ => UNMATCHED,
        };
        let access = Access::begin(request.method(), RouteMetrics::for_route(route));
        let answered = match request.uri().path() {
            "/" => forward::forward(&self.state, request).await,
            "/health" => health::health(&self.state, request.method()),
            _ => Err(Error::NotFound),
        };
        access.end(&self.source, answered.unwrap_or_else(IntoResponse::into_response))
    }
}

impl Service<Request> for Signer {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let signer = self.clone();
        Box::pin(async move { Ok(signer.answer(request).await) })
    }
}
