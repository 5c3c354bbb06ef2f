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
use tokio::time::timeout;
use utoipa::ToSchema;
use utoipa_axum::routes;

/// Time for the database to answer a readiness check.
const LIMIT: Duration = Duration::from_secs(2);

/// The routes for liveness and readiness.
pub fn routes(state: gateway::State) -> Router {
    described().into_router().with_state(state)
}

/// The routes with their description.
pub(crate) fn described() -> DescribedRouter<gateway::State> {
    DescribedRouter::default().routes(routes!(healthz)).routes(routes!(readyz))
}

pyxis_http::value_schemas! {
    AlwaysOk = words(["ok"]);
    HealthState = words(["ok", "unavailable"]);
}

#[derive(Serialize, ToSchema)]
struct Liveness {
    /// State of the database when it was last used. Nothing is asked for this.
    #[schema(value_type = HealthState)]
    database: &'static str,
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
///
/// A database that is away is mentioned and is no reason for a restart.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "Program",
    operation_id = "health",
    responses((status = 200, description = "The process responds.", body = Liveness)),
)]
async fn healthz(Extract(state): Extract<gateway::State>) -> Response {
    axum::Json(Liveness { database: word(state.store.is_answering()), status: "ok" }).into_response()
}

const fn word(ok: bool) -> &'static str {
    if ok { "ok" } else { "unavailable" }
}

/// Check that requests can be served.
///
/// The database responds on every kind of connection, the audit trail can be read and written, and names can be resolved.
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
    let (database, audit, resolver) = tokio::join!(
        timeout(LIMIT, state.store.ping()),
        timeout(LIMIT, gateway::admin::audit::answers(&state)),
        state.net.resolver_answers(),
    );
    let (database, audit) = (matches!(database, Ok(Ok(()))), matches!(audit, Ok(true)));
    let ready = database && audit && resolver;
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
