//! Decided and expired requests that the person may see, with their results.

use axum::body::Body;
use axum::response::Response;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::csv;
use pyxis_core::id::WorkspaceId;
use pyxis_core::target::Target;
use pyxis_gateway::approvals::view::{self, ApprovalView, Filter};
use pyxis_store::approvals::ApprovalColumn;
use serde::Deserialize;

use super::cards::Cards;
use super::db_table::Stored;
use super::inbox::settled_card;
use super::inbox_query::{cursor, read_cursor};
use super::list_query::link;
use super::{file, labels};
use crate::error::html;
use crate::form::Page;
use crate::session::SignedIn;
use crate::view::approvals::{Card, DecidedPage, Pages, ReturnTo};
use crate::view::{Order, Search};
use crate::{Error, State, text};

const HERE: &str = "/app/decided";
/// Requests on a page.
const SHOWN: usize = 50;
/// Requests that an export reads at a time.
const CHUNK: u32 = 500;
/// Name of the export, in the query and in the file name.
const FILE: &str = "decided";
/// Columns of the file.
const COLUMNS: [&str; 11] = [
    "txn_id",
    "asked",
    "method",
    "route",
    "agent",
    "credential",
    "reason",
    "state",
    "decided",
    "decided_by",
    "result",
];

const ORDERS: Stored<ApprovalColumn> = Stored {
    columns: &[
        ("asked", ApprovalColumn::Asked, Order::Descending),
        ("host", ApprovalColumn::Host, Order::Ascending),
        ("agent", ApprovalColumn::Agent, Order::Ascending),
        ("credential", ApprovalColumn::Credential, Order::Ascending),
        ("state", ApprovalColumn::State, Order::Ascending),
    ],
    usual: "-asked",
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct HistoryParams {
    q: String,
    sort: String,
    /// The last request of the previous page.
    after: String,
    export: String,
}

impl HistoryParams {
    /// The conditions, continuing after the previous page.
    fn filter(&self, who: &SignedIn, limit: u32) -> Filter {
        let (by, rising) = ORDERS.sort_column(&self.sort);
        Filter {
            settled: true,
            text: self.q.trim().to_owned(),
            among: who.rights.approvable(),
            by,
            rising,
            beyond: read_cursor(&self.after),
            limit,
            ..Filter::default()
        }
    }

    fn link(&self, sort: &str, (name, value): (&'static str, &str)) -> String {
        link(HERE, [("q", self.q.trim()), ("sort", sort), (name, value)])
    }
}

pub(crate) async fn page(
    Page { state, who, query: which }: Page<SignedIn, HistoryParams>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    if which.export == FILE {
        return Ok(file::csv(FILE, export(state, workspace, which.filter(&who, CHUNK))));
    }
    // One more than is shown, to find out if there are more.
    let filter = which.filter(&who, u32::try_from(SHOWN + 1).unwrap_or(u32::MAX));
    let found = view::list(&state.gateway, workspace, &filter).await?;
    let more = found.get(SHOWN).and(found.get(SHOWN - 1)).map(|last| cursor(&last.row));
    let cards = Cards::load(&state.gateway.store, &*state.gateway.clock, &who, ReturnTo::Inbox).await?;
    let decided: Vec<Card> = found.iter().take(SHOWN).map(|view| settled_card(&cards, view)).collect();
    let pages = (more.is_some() || filter.beyond.is_some()).then(|| Pages {
        summary: text::count_noun(decided.len() as u64, "request"),
        more: None,
        next: more.map(|cursor| which.link(&which.sort, ("after", &cursor))),
        start: filter.beyond.map(|_| which.link(&which.sort, ("after", ""))),
    });
    let sort = Some(which.sort.clone()).filter(|sort| !sort.is_empty());
    let search = Search {
        path: HERE.to_owned(),
        q: which.q.trim().to_owned(),
        kept: sort.into_iter().map(|sort| ("sort", sort)).collect(),
        all: link(HERE, [("sort", which.sort.as_str())]),
        columns: ORDERS.links(&which.sort, |sort| which.link(sort, ("after", ""))),
        csv: Some(which.link(&which.sort, ("export", FILE))),
        ..Search::default()
    };
    html(&DecidedPage { shell: who.shell(&state).await?, search, decided, pages })
}

/// Streams everything found, a piece at a time.
fn export(state: State, workspace: WorkspaceId, filter: Filter) -> Body {
    let head = csv::line(COLUMNS) + "\r\n";
    file::pieces(head, None, move |beyond| {
        let (state, filter) = (state.clone(), Filter { beyond, ..filter.clone() });
        async move {
            let found = view::list(&state.gateway, workspace, &filter).await?;
            let text = found.iter().map(|view| line(view) + "\r\n").collect();
            let full = found.len() >= CHUNK as usize;
            let last = found.last().filter(|_| full);
            Ok((text, last.map(|last| Some((last.row.created_at, last.row.txn_id)))))
        }
    })
}

/// The line of a request. Its query is only on the request's own page: agents put anything into one.
fn line(view: &ApprovalView) -> String {
    let row = &view.row;
    let route = Target::parse(&view.target).map_or_else(|_| row.target_host.clone(), |target| target.route());
    let result = if row.state == ApprovalState::Approved { labels::result(row).0 } else { String::new() };
    csv::line([
        row.txn_id.to_string(),
        row.created_at.to_rfc3339(),
        row.method.to_string(),
        route,
        row.agent_name.clone(),
        row.credential_name.clone(),
        row.reason.clone().unwrap_or_default(),
        if row.withdrawn { "withdrawn" } else { row.state.as_str() }.to_owned(),
        row.decided_at.map(UnixMillis::to_rfc3339).unwrap_or_default(),
        row.decided_by_email.clone().unwrap_or_default(),
        result,
    ])
}
