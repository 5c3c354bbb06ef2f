//! Liveness and readiness.

use std::time::Duration;

use axum::Router;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use pyxis_gateway as gateway;
use pyxis_http::openapi::{DescribedRouter, words};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

/// The routes for liveness and readiness.
pub fn routes(state: gateway::State) -> Router {
    described().into_router().with_state(state)
}

/// The routes with their description.
pub(crate) fn described() -> DescribedRouter<gateway::State> {
    DescribedRouter::default().routes(routes!(healthz)).routes(routes!(readyz))
}

/// Health of the parts that requests need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartsHealth {
    database: bool,
    audit: bool,
    resolver: bool,
}

impl PartsHealth {
    /// True if requests can be served.
    pub(crate) const fn ready(self) -> bool {
        self.database && self.audit && self.resolver
    }
}

/// Checks all parts at once, each for `limit` at most.
pub(crate) async fn check(state: &gateway::State, limit: Duration) -> PartsHealth {
    let database = tokio::time::timeout(limit, state.store.ping());
    let audit = tokio::time::timeout(limit, gateway::admin::audit::answers(state));
    let resolver = tokio::time::timeout(limit, state.net.resolver_answers());
    let (database, audit, resolver) = tokio::join!(database, audit, resolver);
    PartsHealth {
        database: matches!(database, Ok(Ok(()))),
        audit: matches!(audit, Ok(true)),
        resolver: matches!(resolver, Ok(true)),
    }
}

pyxis_http::value_schemas! {
    AlwaysOk = words(["ok"]);
    HealthState = words(["ok", "unavailable"]);
}

#[derive(Serialize, ToSchema)]
struct Liveness {
    #[schema(value_type = AlwaysOk)]
    status: &'static str,
}

#[derive(Serialize, ToSchema)]
struct Readiness {
    /// State of the audit trail.
    #[schema(value_type = HealthState)]
    audit: &'static str,
    #[schema(value_type = HealthState)]
    database: &'static str,
    /// State of name resolution.
    #[schema(value_type = HealthState)]
    resolver: &'static str,
    #[schema(value_type = HealthState)]
    status: &'static str,
}

/// Check that the process responds.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "Program",
    operation_id = "health",
    responses((status = 200, description = "The process responds.", body = Liveness)),
)]
async fn healthz() -> Response {
    axum::Json(Liveness { status: "ok" }).into_response()
}

/// Check that requests can be served.
///
/// The database responds, the audit trail can be read and written, and names can be resolved.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "Program",
    operation_id = "readiness",
    responses(
        (status = 200, description = "Requests can be served.", body = Readiness, example = json!({
            "status": "ok", "database": "ok", "audit": "ok", "resolver": "ok"
        })),
        (
            status = 503,
            description = "Requests cannot be served.",
            headers(("Retry-After" = u64, description = "Seconds to wait before the next attempt.")),
            body = Readiness,
            example = json!({
                "status": "unavailable", "database": "ok", "audit": "unavailable", "resolver": "ok"
            })
        ),
    ),
)]
async fn readyz(Extract(state): Extract<gateway::State>) -> Response {
    let checked = check(&state, Duration::from_secs(5)).await;
    let ready = checked.ready();
    let PartsHealth { database, audit, resolver } = checked;
    let word = |ok: bool| if ok { "ok" } else { "unavailable" };
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = Readiness {
        audit: word(audit),
        database: word(database),
        resolver: word(resolver),
        status: word(ready),
    };
    let mut response = (status, axum::Json(body)).into_response();
    if !ready {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
