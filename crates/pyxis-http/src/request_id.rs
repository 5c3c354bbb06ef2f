//! Every request gets an id; problem bodies and the `X-Request-Id` header of failures carry it.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method};
use pyxis_core::clock::Clock;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::RequestId;
use tokio::time::Instant;

use crate::Problem;

/// The header that names the request.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Where ids come from.
#[derive(Clone)]
pub struct Source {
    /// Time part of the id.
    pub clock: Arc<dyn Clock>,
    /// Random part of the id.
    pub entropy: Arc<dyn Entropy>,
}

/// Names a request that fails; the others never need a name.
pub async fn assign(State(source): State<Source>, request: Request, next: Next) -> Response {
    let access = Access::begin(request.method(), || route(&request));
    access.end(&source, next.run(request).await)
}

/// One request on its way through the server.
pub struct Access(Option<(Method, String, Instant)>);

impl Access {
    /// Notes what the access log will want to know, if there is one.
    pub fn begin(method: &Method, route: impl FnOnce() -> String) -> Self {
        let logged = tracing::enabled!(target: "pyxis::access", tracing::Level::DEBUG);
        Self(logged.then(|| (method.clone(), route(), Instant::now())))
    }

    /// Logs the access, and names the request if it failed.
    pub fn end(self, source: &Source, mut response: Response) -> Response {
        if let Some((method, route, began)) = self.0 {
            let (status, ms) = (response.status().as_u16(), began.elapsed().as_millis());
            tracing::debug!(target: "pyxis::access", %method, route, status, ms, "answered");
        }
        let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
        let id = RequestId::new(source.clock.now(), &*source.entropy);
        log(id, &problem);
        let mut named = problem.render(Some(id));
        if let Ok(value) = HeaderValue::try_from(id.to_string()) {
            named.headers_mut().insert(X_REQUEST_ID, value);
        }
        named
    }
}

/// The pattern that matched, never the path: a path can hold a one-time token.
fn route(request: &Request) -> String {
    request.extensions().get::<MatchedPath>().map_or_else(|| "-".to_owned(), |path| path.as_str().to_owned())
}

fn log(request: RequestId, problem: &Problem) {
    let status = problem.status().as_u16();
    if problem.status().is_server_error() {
        tracing::warn!(%request, status, code = problem.code(), "request failed");
    } else {
        tracing::debug!(%request, status, code = problem.code(), "request refused");
    }
}
