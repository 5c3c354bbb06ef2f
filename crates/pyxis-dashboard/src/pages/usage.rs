//! Usage: requests of agents and API keys over time, and how many of them were refused.

use std::collections::BTreeMap;

use axum::response::Response;
use pyxis_core::actor::ActorId;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::audit;
use pyxis_scoring::service::api_keys;
use pyxis_store::audit::Appender;
use pyxis_store::{Store, agents};
use serde::Deserialize;

use super::first_request;
use super::list_query::{ListQuery, ListSlot};
use super::scoring::{A_KEY, EXAMPLE_ADDRESS, count, curl_command};
use super::table::{By, Table};
use crate::Error;
use crate::chart::spark::Spark;
use crate::chart::{Bucket, Series, StackedBars};
use crate::error::html;
use crate::form::{Page, QueryParams};
use crate::session::Manager;
use crate::text::{count_noun, grouped, minute};
use crate::view::Search;
use crate::view::usage::{RangeLink, UsageLine, UsagePage, UsagePart};

const HERE: &str = "/app/usage";
const HOUR: i64 = 3_600_000;

/// A selectable span: its name in the query, its label, the width of a bar and the number of bars.
type Range = (&'static str, &'static str, i64, usize);

const RANGES: [Range; 3] =
    [("24h", "24 hours", HOUR, 24), ("7d", "7 days", 6 * HOUR, 28), ("30d", "30 days", 24 * HOUR, 30)];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct UsageParams {
    range: String,
}

/// The bars of a range. The last one contains the present.
#[derive(Clone, Copy)]
struct Bars {
    from: UnixMillis,
    to: UnixMillis,
    width: i64,
    number: usize,
}

impl Bars {
    fn ending_at(now: UnixMillis, (_, _, width, number): Range) -> Self {
        let to = (now.0.div_euclid(width) + 1) * width;
        let span = width * i64::try_from(number).unwrap_or(0);
        Self { from: UnixMillis(to - span), to: UnixMillis(to), width, number }
    }

    fn bar_index(&self, at: UnixMillis) -> usize {
        usize::try_from((at.0 - self.from.0) / self.width).unwrap_or(usize::MAX)
    }

    /// Start of each bar: `2026-01-31 09:00`.
    fn labels(&self) -> Vec<String> {
        (0_i64..).take(self.number).map(|n| minute(UnixMillis(self.from.0 + n * self.width))).collect()
    }
}

/// Requests of an agent or key, bar by bar: admitted and refused.
struct Used {
    name: String,
    page: Option<String>,
    /// Reason that it sends no more requests.
    gone: Option<&'static str>,
    bars: Vec<[u64; 2]>,
}

impl Used {
    fn new(name: String, page: Option<String>, gone: Option<&'static str>, number: usize) -> Self {
        Self { name, page, gone, bars: vec![[0; 2]; number] }
    }

    fn add(&mut self, place: usize, admitted: i64, refused: i64) {
        if let Some(bar) = self.bars.get_mut(place) {
            bar[0] += count(admitted);
            bar[1] += count(refused);
        }
    }

    fn total(&self, which: usize) -> u64 {
        self.bars.iter().map(|bar| bar[which]).sum()
    }

    fn requests(&self) -> u64 {
        self.total(0) + self.total(1)
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

const COLUMNS: &[(&str, By<Used>, ())] = &[
    ("name", By::Text(|one| one.name.clone()), ()),
    ("requests", By::Number(|one| number(one.requests())), ()),
    ("admitted", By::Number(|one| number(one.total(0))), ()),
    ("refused", By::Number(|one| number(one.total(1))), ()),
];

/// One kind of caller: agents or API keys.
struct Askers {
    title: &'static str,
    id: &'static str,
    noun: &'static str,
    icon: &'static str,
    meaning: &'static str,
    table: Table<Used>,
}

const AGENT: Askers = Askers {
    title: "Agent requests",
    id: "agents",
    noun: "Agent",
    icon: "agent",
    meaning: "Admitted: allowed or sent for approval. Refused: denied by a policy or not permitted.",
    table: Table { name: "agent-usage", place: ListSlot::First, columns: COLUMNS, usual: "-requests" },
};

const KEY: Askers = Askers {
    title: "API key requests",
    id: "keys",
    noun: "API key",
    icon: "api",
    meaning: "Admitted: answered. Refused: over the key's limit.",
    table: Table { name: "api-key-usage", place: ListSlot::Second, columns: COLUMNS, usual: "-requests" },
};

pub(crate) async fn page(
    Page { state, who, query: UsageParams { range } }: Page<Manager, UsageParams>,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let range = RANGES.into_iter().find(|(name, ..)| *name == range).unwrap_or(RANGES[0]);
    let bars = Bars::ending_at(state.gateway.now(), range);
    let asked = asked.also("range", if range.0 == RANGES[0].0 { "" } else { range.0 });
    let mut agents = of_agents(&state.gateway.store, &state.gateway.audit, workspace, bars).await?;
    agents.retain(|one| asked.fits([one.name.as_str()]));
    let mut keys = match &state.scoring {
        Some(scoring) => of_keys(&scoring.store, workspace, bars).await?,
        None => Vec::new(),
    };
    keys.retain(|one| asked.fits([one.name.as_str()]));
    if let Some(file) = AGENT.table.file(&asked, &agents).or_else(|| KEY.table.file(&asked, &keys)) {
        return Ok(file);
    }
    let mut parts =
        vec![AGENT.part(&asked, bars, agents, first_request(&state.gateway.config, "<agent key>", None))];
    if state.scoring.is_some() {
        parts.push(KEY.part(
            &asked,
            bars,
            keys,
            curl_command(&state.gateway.config, "1", EXAMPLE_ADDRESS, A_KEY),
        ));
    }
    let ranges = RANGES.iter().map(|(name, label, ..)| RangeLink {
        label: (*label).to_owned(),
        href: asked.link(HERE, "range", name),
        here: *name == range.0,
    });
    html(&UsagePage {
        shell: who.shell(&state).await?,
        ranges: ranges.collect(),
        span: range.1.to_owned(),
        search: Search { csv: None, ..parts[0].search.clone() },
        parts,
    })
}

/// Every existing agent, and removed ones that sent requests in the range.
async fn of_agents(
    store: &Store,
    appender: &Appender,
    workspace: WorkspaceId,
    bars: Bars,
) -> Result<Vec<Used>, Error> {
    let Bars { from, to, width, number } = bars;
    let mut all: BTreeMap<ActorId, Used> = BTreeMap::new();
    for agent in agents::list(store, workspace).await.map_err(Service::from)? {
        let (id, gone) = (agent.id, agent.disabled_at.map(|_| "Disabled"));
        let used = Used::new(agent.name, Some(format!("/app/agents/{id}")), gone, number);
        all.insert(ActorId::Agent(id), used);
    }
    for tally in audit::requests_over_time(store, appender, workspace, from, to, width).await? {
        let removed = || Used::new(tally.name, None, Some("Removed"), number);
        let used = all.entry(tally.actor).or_insert_with(removed);
        let is_refused =
            matches!(tally.decision.known(), Some(AuditDecision::Denied | AuditDecision::Refused));
        let (admitted, refused) = if is_refused { (0, tally.count) } else { (tally.count, 0) };
        used.add(bars.bar_index(tally.at), admitted, refused);
    }
    Ok(all.into_values().collect())
}

/// Every working key, and revoked ones that sent requests in the range.
async fn of_keys(store: &Store, workspace: WorkspaceId, bars: Bars) -> Result<Vec<Used>, Error> {
    let Bars { from, to, width, number } = bars;
    let mut all = BTreeMap::new();
    for row in api_keys::list(store, workspace).await? {
        let (page, gone) = (format!("/app/api-keys/{}", row.id), row.revoked_at.map(|_| "Revoked"));
        all.insert(row.id, Used::new(row.name, Some(page), gone, number));
    }
    for tally in api_keys::over_time(store, workspace, from, to, width).await? {
        if let Some(used) = all.get_mut(&tally.key) {
            used.add(bars.bar_index(tally.at), tally.admitted, tally.refused);
        }
    }
    all.retain(|_, used| used.gone.is_none() || used.requests() > 0);
    Ok(all.into_values().collect())
}

impl Askers {
    /// The chart of all that were found, and the table behind it.
    fn part(&self, asked: &ListQuery, bars: Bars, found: Vec<Used>, command: String) -> UsagePart {
        let chart = chart(self.title, bars, &found).with_id(self.id);
        let most = found.iter().flat_map(|one| &one.bars).map(|bar| bar[0] + bar[1]).max().unwrap_or(0);
        let labels = bars.labels();
        let [admitted, refused] = [0, 1].map(|which| total(&found, which));
        let (shown, search) = self.table.page(HERE, asked, found);
        let lines = shown.into_iter().map(|one| line(one, &labels, most)).collect();
        let Self { noun, icon, meaning, .. } = *self;
        let requests = grouped(admitted + refused);
        let (admitted, refused) = (grouped(admitted), grouped(refused));
        UsagePart { noun, icon, meaning, command, requests, admitted, refused, chart, search, lines }
    }
}

/// Total number of requests: 0 is admitted, 1 is refused.
fn total(all: &[Used], which: usize) -> u64 {
    all.iter().map(|one| one.total(which)).sum()
}

fn line(used: Used, labels: &[String], most: u64) -> UsageLine {
    let busiest = used.bars.iter().zip(labels).max_by_key(|(bar, _)| bar[0] + bar[1]);
    let description = match busiest {
        Some((bar, label)) if bar[0] + bar[1] > 0 => {
            format!("Requests of {} over time, highest {} at {label}", used.name, grouped(bar[0] + bar[1]))
        }
        _ => format!("No requests of {}", used.name),
    };
    UsageLine {
        requests: grouped(used.requests()),
        admitted: grouped(used.total(0)),
        refused: grouped(used.total(1)),
        spark: Spark::new(description, &used.bars, most),
        name: used.name,
        page: used.page,
        gone: used.gone,
    }
}

fn chart(title: &str, bars: Bars, found: &[Used]) -> StackedBars {
    let sum = |place: usize, which: usize| found.iter().map(|one| one.bars[place][which]).sum::<u64>();
    let buckets = bars.labels().into_iter().enumerate();
    let buckets = buckets.map(|(n, label)| Bucket { label, counts: vec![sum(n, 0), sum(n, 1)] });
    let description = format!(
        "{} admitted and {} refused from {} to {} UTC.",
        count_noun(total(found, 0), "request"),
        grouped(total(found, 1)),
        minute(bars.from),
        minute(bars.to)
    );
    let series = [("Admitted", "chart-1"), ("Refused", "chart-3")];
    let series = series.map(|(name, class)| Series { name: name.to_owned(), class });
    StackedBars::new(title, description, series.to_vec(), buckets.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_767_225_600_000 + 7 * 60_000);

    #[test]
    fn the_last_bar_holds_the_present_moment() {
        for range in RANGES {
            let bars = Bars::ending_at(NOW, range);
            assert_eq!((bars.bar_index(NOW), bars.labels().len()), (range.3 - 1, range.3), "{}", range.0);
            assert_eq!(
                (bars.bar_index(bars.from), bars.to.0 - bars.from.0),
                (0, range.2 * number(range.3 as u64))
            );
        }
        assert_eq!(Bars::ending_at(NOW, RANGES[0]).labels()[0], "2025-12-31 01:00");
        assert_eq!(Bars::ending_at(NOW, RANGES[2]).labels()[29], "2026-01-01 00:00");
    }

    #[test]
    fn what_is_outside_of_the_bars_is_not_counted() {
        let mut used = Used::new("bot".to_owned(), None, None, 2);
        used.add(1, 3, 2);
        used.add(2, 9, 9);
        used.add(usize::MAX, 9, 9);
        assert_eq!((used.bars[1], used.requests()), ([3, 2], 5));
    }
}
