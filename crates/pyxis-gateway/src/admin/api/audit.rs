//! `GET /admin/audit`.

use std::borrow::Cow;

use axum::extract::State as Extract;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::{UnixMillis, parse_rfc3339_of_query};
use pyxis_http::admin::{Listed, Manager, PageSize, Paged, PagedList};
use pyxis_http::openapi::Time;
use pyxis_http::openapi::responses::InvalidField;
use pyxis_http::{Json, Query};
use pyxis_store::StoredName;
use pyxis_store::audit::AuditFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::admin::audit::{self, AuditRecord};
use crate::error::{Error, NO_NUL, Result};
use crate::runtime::state::State;

const PAGE_SIZE: PageSize = PageSize { default: 100, most: 1000 };

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

/// A record as [`audit::to_json`] writes it.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct RecordResponse {
    #[serde(skip)]
    seq: i64,
    json: Value,
}

impl PartialSchema for RecordResponse {
    fn schema() -> RefOr<Schema> {
        AuditRecord::schema()
    }
}

impl ToSchema for RecordResponse {
    fn name() -> Cow<'static, str> {
        AuditRecord::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        AuditRecord::schemas(schemas);
    }
}

impl Listed for RecordResponse {
    const MEMBER: &'static str = "records";
    const LIST_SCHEMA: Option<&'static str> = Some("AuditListResponse");
}

impl Paged for RecordResponse {
    type Cursor = i64;
    const NEXT: &'static str = "next_before";

    fn cursor(&self) -> i64 {
        self.seq
    }
}

pub(super) type AuditListResponse = PagedList<RecordResponse>;

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
    let limit = PAGE_SIZE.clamp(search.limit);
    let filter = AuditFilter {
        events: search.kind.map(|name| event(&name)).transpose()?.into_iter().collect(),
        actor: search.actor.map(Into::into),
        credential: search.credential,
        decision: search.decision.map(StoredName::from_name),
        method: search.method.map(StoredName::from_name),
        host: search.host,
        text: search.text.map(without_nul).transpose()?,
        from: time("from", search.from)?,
        to: time("to", search.to)?,
        beyond_seq: search.before,
        limit,
        ..AuditFilter::default()
    };
    let entries = audit::search(&state.store, &state.audit, actor.workspace, &filter).await?;
    let records =
        entries.iter().map(|entry| RecordResponse { seq: entry.record.seq, json: audit::to_json(entry) });
    Ok(Json(PagedList::new(records.collect(), limit)))
}

/// Text to search for. No record holds NUL, so a request with it is a mistake.
fn without_nul(text: String) -> Result<String> {
    if text.contains('\0') { Err(Error::field("text", NO_NUL)) } else { Ok(text) }
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
