//! The audit trail: search, chart, export.

use axum::body::Body;
use axum::response::Response;
use pyxis_core::actor::ActorId;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::{audit, credentials};
use pyxis_store::audit::{AuditColumn, AuditEntry, AuditFilter as Wanted};
use pyxis_store::{Store, agents};
use serde::Deserialize;

use super::audit_rows::{GROUPS, OUTCOMES, all_events, row, wanted_events};
use super::credential_form::any;
use super::db_table::Stored;
use super::{file, list_query};
use crate::chart::{Bucket, Series, StackedBars};
use crate::error::html;
use crate::form::Page;
use crate::session::{Manager, SignedIn};
use crate::view::audit::{AuditFilter, AuditPage};
use crate::view::{self, Choice, Order};
use crate::{Error, State, text};

const HERE: &str = "/app/audit";
/// Events on one page.
const PAGE: u32 = 50;
/// Records that an export reads at a time.
const CHUNK: u32 = 500;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// Bar widths. The chart uses the first that gives few enough bars.
const WIDTHS: [i64; 6] = [HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY];
const MAX_BARS: i64 = 62;

const ORDERS: Stored<AuditColumn> = Stored {
    columns: &[
        ("when", AuditColumn::At, Order::Descending),
        ("event", AuditColumn::Kind, Order::Ascending),
        ("who", AuditColumn::Actor, Order::Ascending),
        ("what", AuditColumn::Subject, Order::Ascending),
        ("result", AuditColumn::Status, Order::Descending),
    ],
    usual: "-when",
};

/// The query of the page.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Search {
    q: String,
    agent: String,
    credential: String,
    outcome: String,
    event: String,
    from: String,
    to: String,
    sort: String,
    before: String,
}

impl Search {
    fn is_filtered(&self) -> bool {
        [&self.q, &self.agent, &self.credential, &self.outcome, &self.event, &self.from, &self.to]
            .iter()
            .any(|value| !value.trim().is_empty())
    }

    /// Search conditions. A malformed value adds no condition.
    fn wanted(&self) -> Wanted {
        let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let outcome = OUTCOMES.iter().find(|(name, ..)| *name == self.outcome);
        let agent: Option<AgentId> = self.agent.parse().ok();
        let (by, rising) = ORDERS.sort_column(&self.sort);
        Wanted {
            events: wanted_events(&self.event, &self.outcome),
            actor: agent.map(ActorId::Agent),
            credential: some(&self.credential),
            decision: outcome.and_then(|(_, _, decision)| *decision).map(Into::into),
            failed: self.outcome == "failed",
            text: some(&self.q),
            from: day(&self.from),
            to: day(&self.to).map(|day| UnixMillis(day.0.saturating_add(DAY))),
            by,
            rising,
            beyond_seq: self.before.parse().ok(),
            ..Wanted::default()
        }
    }

    /// `path` with this query, except for the page.
    fn link(&self, path: &str, before: Option<i64>) -> String {
        self.sorted(path, &self.sort, before)
    }

    /// The same in another order.
    fn sorted(&self, path: &str, sort: &str, before: Option<i64>) -> String {
        let before = before.map(|seq| seq.to_string()).unwrap_or_default();
        let pairs = [
            ("q", self.q.as_str()),
            ("agent", &self.agent),
            ("credential", &self.credential),
            ("outcome", &self.outcome),
            ("event", &self.event),
            ("from", &self.from),
            ("to", &self.to),
            ("sort", sort),
            ("before", &before),
        ];
        list_query::link(path, pairs)
    }
}

/// The start of a day, UTC.
fn day(text: &str) -> Option<UnixMillis> {
    UnixMillis::parse_rfc3339(&format!("{}T00:00:00Z", text.trim()))
}

pub(crate) async fn page(
    Page { state, who, query: asked }: Page<Manager, Search>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let wanted = Wanted { limit: PAGE + 1, ..asked.wanted() };
    let mut entries = audit::search(&state.gateway.store, &state.gateway.audit, workspace, &wanted).await?;
    let more = entries.len() > PAGE as usize;
    entries.truncate(PAGE as usize);
    let last = entries.last().map(|entry| entry.record.seq).filter(|_| more);
    let now = state.gateway.now();
    html(&AuditPage {
        shell: who.shell(&state).await?,
        filter: filter(&state.gateway.store, &who, &asked).await?,
        chart: chart(&state.gateway.store, state.gateway.now(), workspace, &wanted).await?,
        search: view::Search {
            columns: ORDERS.links(&asked.sort, |sort| asked.sorted(HERE, sort, None)),
            ..view::Search::default()
        },
        summary: match (entries.len(), more) {
            (0, _) => "no events".to_owned(),
            (n, true) if asked.sort.is_empty() => format!("{n} events and older ones"),
            (n, true) => format!("{n} events and more"),
            (n, false) => text::count_noun(n as u64, "event"),
        },
        rows: entries.iter().map(|entry| row(entry, now)).collect(),
        newest: wanted.beyond_seq.map(|_| asked.link(HERE, None)),
        older: last.map(|seq| asked.link(HERE, Some(seq))),
        export_csv: asked.link("/app/audit/export.csv", None),
        export_jsonl: asked.link("/app/audit/export.jsonl", None),
    })
}

async fn filter(store: &Store, who: &SignedIn, asked: &Search) -> Result<AuditFilter, Error> {
    let workspace = who.person.workspace();
    let agents = agents::list(store, workspace).await.map_err(Service::from)?;
    let agents = agents.into_iter().map(|agent| (agent.id.to_string(), agent.name));
    let names = credentials::list(store, workspace).await?;
    let names = names.into_iter().map(|row| (row.name.clone(), row.name));
    let own = |(value, label): (&str, &str)| (value.to_owned(), label.to_owned());
    Ok(AuditFilter {
        q: asked.q.clone(),
        sort: asked.sort.clone(),
        agents: any("Any agent", agents, &asked.agent),
        credentials: any("Any credential", names, &asked.credential),
        outcomes: any("Any outcome", OUTCOMES.iter().map(|o| own((o.0, o.1))), &asked.outcome),
        event_groups: any(
            "Any event",
            GROUPS.iter().map(|(value, of)| own((value, of.title()))),
            &asked.event,
        ),
        events: events(&asked.event),
        from: asked.from.clone(),
        to: asked.to.clone(),
        active: asked.is_filtered(),
    })
}

/// Every event, by label. A chosen one may be asked for by an earlier name.
fn events(asked: &str) -> Vec<Choice> {
    let chosen = AuditEvent::from_name(asked);
    let choice = |event: AuditEvent| Choice {
        value: event.as_str().to_owned(),
        label: event.label().to_owned(),
        chosen: chosen == Some(event),
    };
    all_events().into_iter().map(choice).collect()
}

/// Requests by decision over the days of the filter, or over the last day.
async fn chart(
    store: &Store,
    now: UnixMillis,
    workspace: WorkspaceId,
    wanted: &Wanted,
) -> Result<StackedBars, Error> {
    let to = wanted.to.unwrap_or(now).min(now);
    let default =
        if wanted.to.is_some() { to.0 - 30 * DAY } else { (to.0 - 23 * HOUR).div_euclid(HOUR) * HOUR };
    let from = wanted.from.unwrap_or(UnixMillis(default));
    let span = (to.0 - from.0).max(1);
    let width = WIDTHS.into_iter().find(|width| span / width < MAX_BARS).unwrap_or(365 * DAY);
    let counts = audit::over_time(store, workspace, from, to, width).await?;
    let bars = usize::try_from((span + width - 1) / width).unwrap_or(1).min(200);
    let mut buckets: Vec<Bucket> = (0_i64..)
        .take(bars)
        .map(|n| Bucket { label: label(UnixMillis(from.0 + n * width), width), counts: vec![0; 4] })
        .collect();
    let mut totals = [0_u64; 4];
    for (at, decision, count) in counts {
        let series = series_of(decision.known());
        let count = u64::try_from(count).unwrap_or(0);
        let place = usize::try_from((at.0 - from.0) / width).unwrap_or(0);
        if let Some(bucket) = buckets.get_mut(place) {
            bucket.counts[series] += count;
            totals[series] += count;
        }
    }
    let series = ["Allowed", "Allowed by a grant", "Sent for approval", "Denied or refused"];
    let classes = ["chart-1", "chart-2", "chart-4", "chart-3"];
    let named = series.iter().zip(classes).map(|(name, class)| Series { name: (*name).to_owned(), class });
    let description = format!(
        "{} from {} to {}: {} allowed, {} allowed by a grant or a task, {} sent for approval, {} denied or refused.",
        text::count_noun(totals.iter().sum(), "request"),
        text::absolute(from),
        text::absolute(to),
        totals[0],
        totals[1],
        totals[2],
        totals[3]
    );
    Ok(StackedBars::new("Requests by decision", description, named.collect(), buckets))
}

const fn series_of(decision: Option<AuditDecision>) -> usize {
    match decision {
        Some(AuditDecision::Auto) => 0,
        // A task allows like a grant: a person approved before.
        Some(AuditDecision::Grant | AuditDecision::Task) => 1,
        Some(AuditDecision::Pending) => 2,
        Some(AuditDecision::Approved | AuditDecision::Denied | AuditDecision::Refused) | None => 3,
    }
}

/// `2026-01-31`, with the hour if bars are narrower than a day.
fn label(at: UnixMillis, width: i64) -> String {
    let absolute = text::absolute(at);
    let end = if width < DAY { 16 } else { 10 };
    absolute.get(..end).unwrap_or(&absolute).to_owned()
}

pub(crate) async fn export_csv(Page { state, who, query: asked }: Page<Manager, Search>) -> Response {
    let head = audit::csv_head() + "\r\n";
    let body = export(state, who.person.workspace(), asked.wanted(), head, |entry, out| {
        out.push_str(&audit::to_csv(entry));
        out.push_str("\r\n");
    });
    file::csv("audit", body)
}

pub(crate) async fn export_jsonl(Page { state, who, query: asked }: Page<Manager, Search>) -> Response {
    let body = export(state, who.person.workspace(), asked.wanted(), String::new(), |entry, out| {
        out.push_str(&audit::to_json(entry).to_string());
        out.push('\n');
    });
    file::download("application/x-ndjson", "pyxis-audit.jsonl", body)
}

/// Streams the records newest first, a page at a time.
fn export(
    state: State,
    workspace: WorkspaceId,
    wanted: Wanted,
    head: String,
    write: fn(&AuditEntry, &mut String),
) -> Body {
    let wanted = Wanted { limit: CHUNK, by: AuditColumn::At, rising: false, ..wanted };
    file::pieces(head, None, move |beyond_seq| {
        let (state, wanted) = (state.clone(), Wanted { beyond_seq, ..wanted.clone() });
        async move {
            let entries =
                audit::search(&state.gateway.store, &state.gateway.audit, workspace, &wanted).await?;
            let mut text = String::new();
            for entry in &entries {
                write(entry, &mut text);
            }
            let full = entries.len() >= CHUNK as usize;
            Ok((text, entries.last().filter(|_| full).map(|entry| Some(entry.record.seq))))
        }
    })
}
