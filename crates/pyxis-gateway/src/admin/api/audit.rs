//! `GET /admin/audit`.

use axum::extract::State as Extract;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::{UnixMillis, parse_rfc3339_of_query};
use pyxis_http::admin::Manager;
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::InvalidField;
use pyxis_http::{Json, Query};
use pyxis_store::audit::AuditFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::admin::audit::{self, AuditRecord};
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Search of the audit trail, as query parameters.
#[derive(Deserialize, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditSearchParams {
    /// An event of the audit trail, for example `request.received`, `approval.approved`, `policy.changed`. Earlier names
    /// are understood.
    kind: Option<String>,
    actor: Option<String>,
    credential: Option<String>,
    /// For example `auto`, `grant`, `pending`, `approved`, `denied`, `refused`.
    decision: Option<String>,
    method: Option<String>,
    host: Option<String>,
    /// Text that the record contains.
    text: Option<String>,
    /// From this time on.
    #[param(value_type = Option<Time>)]
    from: Option<String>,
    /// Before this time.
    #[param(value_type = Option<Time>)]
    to: Option<String>,
    /// `next_before` of the previous page.
    before: Option<i64>,
    /// Page size.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct AuditListResponse {
    #[schema(value_type = Vec<AuditRecord>)]
    records: Vec<Value>,
    /// Value of `before` for the next page; null on the last page.
    #[schema(required)]
    next_before: Option<i64>,
}

/// Search the audit trail, newest first.
///
/// A record must match all parameters.
#[utoipa::path(
    get,
    path = "/admin/audit",
    tag = "Workspace",
    operation_id = "searchAudit",
    security(("session" = [])),
    params(AuditSearchParams),
    responses(
        (status = 200, description = "One page of the trail.", body = AuditListResponse),
        (status = 422, response = InvalidField),
    ),
)]
pub(super) async fn search(
    Extract(state): Extract<State>,
    Manager(actor): Manager,
    Query(search): Query<AuditSearchParams>,
) -> Result<Json<AuditListResponse>> {
    let limit = search.limit.unwrap_or(100).clamp(1, 1000);
    let filter = AuditFilter {
        events: search.kind.map(|name| event(&name)).transpose()?.into_iter().collect(),
        actor: search.actor,
        credential: search.credential,
        decision: search.decision,
        method: search.method,
        host: search.host,
        text: search.text,
        from: time("from", search.from)?,
        to: time("to", search.to)?,
        beyond_seq: search.before,
        limit,
        ..AuditFilter::default()
    };
    let entries = audit::search(&state, actor.workspace, &filter).await?;
    let full = entries.len() >= limit as usize;
    let next_before = entries.last().filter(|_| full).map(|entry| entry.record.seq);
    Ok(Json(AuditListResponse { records: entries.iter().map(audit::to_json).collect(), next_before }))
}

/// The event of a present or an earlier name.
fn event(name: &str) -> Result<AuditEvent> {
    AuditEvent::from_name(name)
        .ok_or_else(|| Error::field("kind", "an event of the audit trail, for example credential.created"))
}

fn time(field: &str, text: Option<String>) -> Result<Option<UnixMillis>> {
    text.map(|text| {
        parse_rfc3339_of_query(&text)
            .ok_or_else(|| Error::field(field, "must be an RFC 3339 time, for example 2026-01-31T09:00:00Z"))
    })
    .transpose()
}
