//! `GET /admin/audit`.

use axum::extract::State as Extract;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::{UnixMillis, parse_rfc3339_of_query};
use pyxis_http::{Json, Query};
use pyxis_store::audit::AuditFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Manager;
use crate::admin::audit;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// Search of the audit trail, as query parameters.
#[derive(Deserialize, Default)]
pub(super) struct AuditSearchParams {
    kind: Option<String>,
    actor: Option<String>,
    credential: Option<String>,
    decision: Option<String>,
    method: Option<String>,
    host: Option<String>,
    text: Option<String>,
    from: Option<String>,
    to: Option<String>,
    before: Option<i64>,
    limit: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct AuditListResponse {
    records: Vec<Value>,
    /// Pass as `before` for the next page.
    next_before: Option<i64>,
}

pub(super) async fn search(
    Extract(state): Extract<State>,
    Manager(person): Manager,
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
    let entries = audit::search(&state, person.workspace(), &filter).await?;
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
