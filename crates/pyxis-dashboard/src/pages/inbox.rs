//! The inbox, the page of one request, and the standalone page behind an approval link.

use axum::response::Response;
use http::HeaderValue;
use http::header::REFRESH;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::approval_load;
use pyxis_gateway::approvals::view::{self, ApprovalView, Filter};
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::lists::{self, CredentialItem, Direction, Slice};
use serde::Deserialize;

use super::cards::Cards;
use super::grouping::{self, Comparable};
use super::{first_request, labels};
use crate::error::html;
use crate::form::{Page, PathId};
use crate::notice::see_other;
use crate::session::SignedIn;
use crate::view::Search;
use crate::view::approvals::{
    ApprovalPage, Card, CardState, InboxPage, Load, Pages, ReturnTo, StandalonePage,
};
use crate::view::body::BodyView;
use crate::{Error, State};

/// Most pending requests on one page.
const SHOWN: u32 = 50;
/// Bytes of each body that the inbox shows.
const HEAD: usize = 8192;
/// Largest body that the inbox opens; a larger one is shown only on the request's own page.
const MAX_OPENED: i64 = 256 * 1024;
/// Decided requests below the pending ones.
const DECIDED: usize = 15;

#[derive(Default, Deserialize)]
pub(crate) struct InboxParams {
    #[serde(default)]
    order: String,
    /// The last request of the previous page: creation in milliseconds, a dot, its id.
    #[serde(default)]
    after: String,
    /// Text to find.
    #[serde(default)]
    q: String,
}

pub(crate) async fn inbox(
    Page { state, who, query: InboxParams { order, after, q } }: Page<SignedIn, InboxParams>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let newest_first = order == "newest";
    let q = q.trim();
    let start = start(newest_first, q);
    let beyond = read_cursor(&after);
    let cards = Cards::load(&state, &who, ReturnTo::Inbox).await?;
    // One more than is shown, to find out if there are more.
    let filter = Filter {
        state: Some(ApprovalState::Pending),
        among: who.rights.approvable(),
        text: q.to_owned(),
        rising: !newest_first,
        beyond,
        limit: SHOWN + 1,
        ..Filter::default()
    };
    let waiting = view::list(&state.gateway, workspace, &filter).await?;
    if waiting.is_empty() && beyond.is_some() {
        // Everything on this page has been decided.
        return Ok(see_other(&start));
    }
    let more = waiting.get(SHOWN as usize).and(waiting.get(SHOWN as usize - 1)).map(|last| cursor(&last.row));
    let mut pending = Vec::new();
    for view in waiting.into_iter().take(SHOWN as usize) {
        pending.push(waiting_card(&state, &cards, view).await?);
    }
    let count = pending.len();
    let decided: Vec<Card> =
        list_decided(&state, &who, q).await?.iter().map(|v| settled_card(&cards, v)).collect();
    let shell = who.shell(&state).await?;
    // Instructions for a first request are for those who have an agent key.
    let first_request = if shell.manager { Some(hint(&state, workspace).await?) } else { None };
    let load = load(&state, &who).await?;
    let pages = (more.is_some() || beyond.is_some()).then(|| Pages {
        summary: if q.is_empty() {
            format!("{count} of {} pending", shell.pending)
        } else {
            format!("{count} with “{q}”")
        },
        next: more.map(|cursor| beyond_link(&start, &cursor)),
        start: beyond.map(|_| start),
    });
    let search = Search { path: "/app/inbox".to_owned(), q: q.to_owned(), ..Search::default() };
    let groups = grouping::group(pending);
    html(&InboxPage { shell, search, load, groups, pages, decided, newest_first, first_request })
}

/// The first page of a list, with its filters.
fn start(newest_first: bool, q: &str) -> String {
    let order = newest_first.then(|| "order=newest".to_owned());
    let asked = (!q.is_empty()).then(|| format!("q={}", utf8_percent_encode(q, NON_ALPHANUMERIC)));
    let query: Vec<String> = order.into_iter().chain(asked).collect();
    if query.is_empty() { "/app/inbox".to_owned() } else { format!("/app/inbox?{}", query.join("&")) }
}

/// The page behind a cursor.
pub(super) fn beyond_link(start: &str, cursor: &str) -> String {
    let join = if start.contains('?') { '&' } else { '?' };
    format!("{start}{join}after={cursor}")
}

pub(super) fn cursor(row: &ApprovalRow) -> String {
    format!("{}.{}", row.created_at.0, row.txn_id)
}

/// Parses a cursor. A malformed one means the first page.
pub(super) fn read_cursor(text: &str) -> Option<(UnixMillis, TxnId)> {
    let (at, txn) = text.split_once('.')?;
    Some((UnixMillis(at.parse().ok()?), txn.parse().ok()?))
}

async fn list_decided(state: &State, who: &SignedIn, q: &str) -> Result<Vec<ApprovalView>, Error> {
    let mut all = Vec::new();
    for wanted in [ApprovalState::Approved, ApprovalState::Denied, ApprovalState::Expired] {
        let among = who.rights.approvable();
        let text = q.to_owned();
        let filter = Filter { state: Some(wanted), among, text, limit: 15, ..Filter::default() };
        all.extend(view::list(&state.gateway, who.person.workspace(), &filter).await?);
    }
    all.sort_by_key(|view| std::cmp::Reverse(view.row.decided_at));
    all.truncate(DECIDED);
    Ok(all)
}

/// A pending request with the head of its body. If that is not all of it, the request cannot be approved here: no one
/// should approve what they could not see.
async fn waiting_card(state: &State, cards: &Cards, view: ApprovalView) -> Result<Comparable, Error> {
    let (view, mut card) = if view.row.body_bytes > MAX_OPENED {
        let card =
            cards.card(&view, BodyView::absent(size(&view.row), "The body is too large for this list."));
        (view, card)
    } else {
        let whole = view::load_view(&state.gateway, view.row.workspace_id, view.row.txn_id).await?;
        let card = cards.card(&whole, body(&whole, HEAD));
        (whole, card)
    };
    if card.body.has_more() && matches!(card.state, CardState::Open { .. }) {
        card.state = CardState::Longer;
    }
    Ok(Comparable::new(card, &view))
}

pub(super) fn settled_card(cards: &Cards, view: &ApprovalView) -> Card {
    cards.card(view, BodyView::absent(size(&view.row), ""))
}

fn size(row: &ApprovalRow) -> u64 {
    u64::try_from(row.body_bytes).unwrap_or(0)
}

fn body(view: &ApprovalView, limit: usize) -> BodyView {
    match &view.body {
        Some(bytes) => {
            let shown = BodyView::new(view.row.content_type.as_deref(), bytes, limit);
            // The fingerprint covers the body that is sent.
            match &view.body_sha256 {
                Some(digest) => shown.with_fingerprint(digest, size(&view.row)),
                None => shown,
            }
        }
        None => BodyView::absent(size(&view.row), "The body was erased after the retention period."),
    }
}

/// This person's recent load: people who are asked too often stop reading.
async fn load(state: &State, who: &SignedIn) -> Result<Option<Load>, Error> {
    let asked = approval_load::measure(&state.gateway, &who.person.user, &who.rights).await?;
    Ok((asked.day > 0).then_some(Load {
        hour: asked.hour,
        day: asked.day,
        approved: asked.approved,
        denied: asked.denied,
        heavy: asked.hour > approval_load::MANY_AN_HOUR,
    }))
}

/// A `curl` for this workspace. The agent's key cannot be shown: only its hash is stored.
async fn hint(state: &State, workspace: WorkspaceId) -> Result<String, Error> {
    let store = &state.gateway.store;
    let (agents, credentials) =
        (lists::agents(workspace, state.gateway.now()), lists::credentials(store.engine(), workspace, None));
    let by_name = [(CredentialItem::NAME, Direction::Ascending)];
    let agents = agents.read(store, &Slice::first(1, &[])).await.map_err(Service::from)?;
    let credentials = credentials.read(store, &Slice::first(1, &by_name)).await.map_err(Service::from)?;
    let key =
        agents.first().map_or_else(|| "<agent key>".to_owned(), |agent| format!("{}…", agent.row.key_hint));
    Ok(first_request(state, &key, credentials.first().map(|item| &item.row)))
}

pub(crate) async fn approval(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let card = load_card(&state, &who, &id, ReturnTo::Approval).await?;
    let on_its_way = is_on_its_way(&card);
    let page = html(&ApprovalPage { shell: who.shell(&state).await?, card })?;
    Ok(if on_its_way { look_again(page) } else { page })
}

pub(crate) async fn standalone(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let card = load_card(&state, &who, &id, ReturnTo::Standalone).await?;
    let on_its_way = is_on_its_way(&card);
    let page = html(&StandalonePage { shell: who.shell(&state).await?, card })?;
    Ok(if on_its_way { look_again(page) } else { page })
}

/// True if the request is approved and its result is not known yet.
fn is_on_its_way(card: &Card) -> bool {
    matches!(&card.state, CardState::Approved { result, .. } if labels::is_on_its_way(result))
}

/// Makes the browser reload the page until the response is there; no script needed.
fn look_again(mut page: Response) -> Response {
    page.headers_mut().insert(REFRESH, HeaderValue::from_static("2"));
    page
}

async fn load_card(state: &State, who: &SignedIn, id: &str, place: ReturnTo) -> Result<Card, Error> {
    let row = view::row(&state.gateway, who.person.workspace(), txn(id)?).await?;
    who.require_approve(row.credential_id)?;
    let view = view::load_view(&state.gateway, who.person.workspace(), row.txn_id).await?;
    let cards = Cards::load(state, who, place).await?;
    let body = body(&view, usize::MAX);
    Ok(cards.card(&view, body))
}

/// Parses a transaction id. A malformed one is not found.
pub(crate) fn txn(text: &str) -> Result<TxnId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}
