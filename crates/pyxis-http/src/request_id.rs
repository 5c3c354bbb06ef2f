//! Request ids. Problem bodies and the `X-Request-Id` header of error responses carry the id.

use std::sync::Arc;
use std::time::Duration;

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
use crate::route_metrics::{RouteMetrics, UNMATCHED};

pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Source of request ids.
#[derive(Clone)]
pub struct RequestIdSource {
    /// Supplies the time part.
    pub clock: Arc<dyn Clock>,
    /// Supplies the random part.
    pub entropy: Arc<dyn Entropy>,
}

/// Assigns an id to a request that fails. Successful requests need none.
pub async fn assign(State(source): State<RequestIdSource>, request: Request, next: Next) -> Response {
    let access = Access::begin(request.method(), route(&request));
    access.end(&source, next.run(request).await)
}

/// Pattern of the route that answered, for routes of services, whose pattern the router does not tell.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRoute(pub &'static str);

/// Access log entry and metrics of one request.
pub struct Access {
    method: Method,
    route: &'static RouteMetrics,
    began: Instant,
}

impl Access {
    /// Starts an entry.
    pub fn begin(method: &Method, route: &'static RouteMetrics) -> Self {
        Self { method: method.clone(), route, began: Instant::now() }
    }

    /// Counts the request, writes the access log entry, and adds a request id if the request failed.
    pub fn end(self, source: &RequestIdSource, mut response: Response) -> Response {
        let (status, took) = (response.status(), self.began.elapsed());
        let service = response.extensions_mut().remove::<ServiceRoute>();
        let route = service.map_or(self.route, |ServiceRoute(pattern)| RouteMetrics::for_route(pattern));
        route.record_response(status, took);
        // Its fields are read only if it is written. `enabled!` would take the next line of this thread with it. A
        // layer with a filter of its own remembers the question until an event comes.
        tracing::info!(
            target: "pyxis::access",
            method = %self.method,
            route = route.pattern(),
            status = status.as_u16(),
            ms = milliseconds(took),
            txn = response.headers().get("px-txn").and_then(|txn| txn.to_str().ok()),
            "answered"
        );
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

/// Milliseconds to the microsecond. A float, because JSON lines show integers of 128 bits as text.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// Keeps headers that layers and routes added to the response: `Allow` and CORS headers.
fn keep_headers(from: &HeaderMap, to: &mut HeaderMap) {
    let own = to.clone();
    for (name, value) in from.iter().filter(|(name, _)| !own.contains_key(*name) && *name != CONTENT_LENGTH) {
        to.append(name, value.clone());
    }
}

/// The matched route pattern, never the path, because a path can contain a one-time token.
fn route(request: &Request) -> &'static RouteMetrics {
    RouteMetrics::for_route(request.extensions().get::<MatchedPath>().map_or(UNMATCHED, MatchedPath::as_str))
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
        let named = Access::begin(&Method::GET, RouteMetrics::for_route(UNMATCHED)).end(&source, response);
        let all =
            |name: &str| named.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(all("access-control-allow-origin").collect::<Vec<_>>(), ["*"]);
        assert_eq!(all("vary").collect::<Vec<_>>(), ["origin", "accept"]);
        assert_eq!(all("px-error").collect::<Vec<_>>(), ["not_found"]);
        assert_eq!((all("content-length").count(), all("x-request-id").count()), (0, 1));
    }
}
