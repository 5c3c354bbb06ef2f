//! Audit: events and their actors.

use askama::Template;

use super::{Choice, DecisionBadge, Layout, Search, Timestamp, in_section};
use crate::chart::StackedBars;

/// `GET /app/audit` with the fields of [`AuditFilter`] in the query.
#[derive(Clone, Debug, Template)]
#[template(path = "audit.html")]
pub struct AuditPage {
    pub shell: Layout,
    /// The filter as used.
    pub filter: AuditFilter,
    /// Requests by decision over the filtered period.
    pub chart: StackedBars,
    /// The orders of the table.
    pub search: Search,
    /// One page of events.
    pub rows: Vec<AuditRow>,
    /// `50 events, and older ones`, `no events`.
    pub summary: String,
    /// Link back to the first page: a path with query.
    pub newest: Option<String>,
    /// Link to the next page.
    pub older: Option<String>,
    /// Links to the same events as a file: `/app/audit/export.csv?…`.
    pub export_csv: String,
    /// `/app/audit/export.jsonl?…`.
    pub export_jsonl: String,
}

/// GET fields: `q`, `agent`, `credential`, `outcome`, `event`, `from`, `to` (dates, `2026-01-31`,
/// UTC), `sort`.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Text in host, path, actor or reason.
    pub q: String,
    /// Agents; the first choice is "any" with an empty value.
    pub agents: Vec<Choice>,
    /// Credentials, likewise.
    pub credentials: Vec<Choice>,
    /// Outcomes, likewise.
    pub outcomes: Vec<Choice>,
    /// Groups of events, likewise.
    pub event_groups: Vec<Choice>,
    /// Single events, by label.
    pub events: Vec<Choice>,
    /// First day.
    pub from: String,
    /// Last day.
    pub to: String,
    /// The requested order; empty: newest first.
    pub sort: String,
    /// True if any filter is set.
    pub active: bool,
}

/// One event.
#[derive(Clone, Debug)]
pub struct AuditRow {
    /// Time of the event.
    pub at: Timestamp,
    /// Event in words: `Request`, `Approved`, `Secret replaced`.
    pub event: String,
    /// Badge, for requests and decisions.
    pub outcome: Option<DecisionBadge>,
    /// Agent or person.
    pub actor: String,
    /// Credential, person or other subject; may be empty. Shown under the actor of a request, and as the object of any
    /// other event.
    pub subject: String,
    /// `POST api.example.com/v1/items`; empty if the event is not a request.
    pub request: String,
    /// Reason: the rule in words, with the grant or the person's reason.
    pub why: String,
    /// `200 · 84 ms`; empty if nothing was sent.
    pub result: String,
    /// Transaction id, if it went through approval.
    pub txn_id: Option<String>,
}

in_section!(AuditPage => Audit);
