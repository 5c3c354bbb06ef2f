//! Liveness and readiness.

use std::time::Duration;

use axum::Router;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use pyxis_gateway as gateway;
use pyxis_gateway::admin::readiness::PartsHealth;
pub(crate) use pyxis_gateway::admin::readiness::check;
use pyxis_http::openapi::{DescribedRouter, text_enum};
use serde::Serialize;
use tokio::sync::watch;
use utoipa::ToSchema;
use utoipa_axum::routes;

/// Time for each part to respond.
const LIMIT: Duration = Duration::from_secs(2);

/// State of the routes.
#[derive(Clone)]
pub struct HealthState {
    gateway: gateway::State,
    /// True once the server was asked to stop.
    stopping: watch::Receiver<bool>,
}

/// The routes for liveness and readiness. The server is not ready once `stopping` is true.
pub fn routes(gateway: gateway::State, stopping: watch::Receiver<bool>) -> Router {
    describe_routes().into_router().with_state(HealthState { gateway, stopping })
}

/// The routes with their description.
pub(crate) fn describe_routes() -> DescribedRouter<HealthState> {
    DescribedRouter::default().routes(routes!(healthz)).routes(routes!(readyz))
}

pyxis_http::value_schemas! {
    AlwaysOk = text_enum(["ok"]);
    PartHealth = text_enum(["ok", "unavailable"]);
    /// `draining` once the server was asked to stop.
    ReadinessState = text_enum(["ok", "unavailable", "draining"]);
}

#[derive(Serialize, ToSchema)]
struct Liveness {
    /// State of the database when it was last used. Nothing is asked for this.
    #[schema(value_type = PartHealth)]
    database: &'static str,
    #[schema(value_type = AlwaysOk)]
    status: &'static str,
}

#[derive(Serialize, ToSchema)]
struct Readiness {
    /// State of the audit trail.
    #[schema(value_type = PartHealth)]
    audit: &'static str,
    #[schema(value_type = PartHealth)]
    database: &'static str,
    /// State of name resolution.
    #[schema(value_type = PartHealth)]
    resolver: &'static str,
    #[schema(value_type = ReadinessState)]
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
async fn healthz(Extract(HealthState { gateway, .. }): Extract<HealthState>) -> Response {
    axum::Json(Liveness { database: status_word(gateway.store.is_answering()), status: "ok" }).into_response()
}

const fn status_word(ok: bool) -> &'static str {
    if ok { "ok" } else { "unavailable" }
}

/// Check that requests can be served.
///
/// The database responds on every kind of connection, and the audit trail can be read and written. Names can be
/// resolved, and the server was not asked to stop.
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
async fn readyz(Extract(HealthState { gateway, stopping }): Extract<HealthState>) -> Response {
    let checked = check(&gateway, LIMIT).await;
    let draining = *stopping.borrow();
    let ready = checked.ready() && !draining;
    let PartsHealth { database, audit, resolver } = checked;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = Readiness {
        audit: status_word(audit),
        database: status_word(database),
        resolver: status_word(resolver),
        status: if draining { "draining" } else { status_word(ready) },
    };
    let mut response = (status, axum::Json(body)).into_response();
    if !ready {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
