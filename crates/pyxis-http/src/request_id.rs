//! Every request gets an id; problem bodies and the `X-Request-Id` header of failures carry it.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use pyxis_core::clock::Clock;
use pyxis_core::entropy::Entropy;
use pyxis_core::id::RequestId;
use tokio::time::Instant;

use crate::Problem;

/// The header that names the request.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Where ids come from.
#[derive(Clone)]
pub struct RequestIdSource {
    /// Time part of the id.
    pub clock: Arc<dyn Clock>,
    /// Random part of the id.
    pub entropy: Arc<dyn Entropy>,
}

/// Names a request that fails; the others never need a name.
pub async fn assign(State(source): State<RequestIdSource>, request: Request, next: Next) -> Response {
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
    pub fn end(self, source: &RequestIdSource, mut response: Response) -> Response {
        if let Some((method, route, began)) = self.0 {
            let (status, ms) = (response.status().as_u16(), began.elapsed().as_millis());
            tracing::debug!(target: "pyxis::access", %method, route, status, ms, "answered");
        }
        let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
        let id = RequestId::new(source.clock.now(), &*source.entropy);
        log(id, &problem);
        let mut named = problem.render(Some(id));
        keep_headers(response.headers(), named.headers_mut());
        if let Ok(value) = HeaderValue::try_from(id.to_string()) {
            named.headers_mut().insert(X_REQUEST_ID, value);
        }
        named
    }
}

/// Keeps what layers and routes added to the answer: `Allow`, or that pages of other origins may read it.
fn keep_headers(from: &HeaderMap, to: &mut HeaderMap) {
    let own = to.clone();
    for (name, value) in from.iter().filter(|(name, _)| !own.contains_key(*name) && *name != CONTENT_LENGTH) {
        to.append(name, value.clone());
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

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http::StatusCode;
    use pyxis_core::clock::{FixedClock, UnixMillis};
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    #[test]
    fn what_layers_added_to_a_failure_stays_when_it_gets_its_id() {
        let source = RequestIdSource {
            clock: Arc::new(FixedClock::new(UnixMillis(1))),
            entropy: Arc::new(SeededEntropy::new(1)),
        };
        let mut response = Problem::new(StatusCode::NOT_FOUND, "not_found", "nothing").into_response();
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("vary", "origin"),
            ("vary", "accept"),
            ("content-length", "1"),
            ("px-error", "other"),
        ] {
            response.headers_mut().append(name, HeaderValue::from_static(value));
        }
        let named = Access::begin(&Method::GET, String::new).end(&source, response);
        let all =
            |name: &str| named.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(all("access-control-allow-origin").collect::<Vec<_>>(), ["*"]);
        assert_eq!(all("vary").collect::<Vec<_>>(), ["origin", "accept"]);
        assert_eq!(all("px-error").collect::<Vec<_>>(), ["not_found"]);
        assert_eq!((all("content-length").count(), all("x-request-id").count()), (0, 1));
    }
}
