//! The inbox, the page of one request, and the standalone page behind an approval link.

use axum::response::{IntoResponse, Response};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_gateway::admin::approval_load;
use pyxis_gateway::approvals::inbox;
use pyxis_gateway::approvals::view::{self, ApprovalView, Filter};
use pyxis_gateway::{Config, Error as Service};
use pyxis_store::Store;
use pyxis_store::approvals::ApprovalRow;
use pyxis_store::lists::{self, CredentialItem, Direction, Slice};
use serde_json::json;

use super::cards::Cards;
use super::grouping::{self, Comparable};
use super::inbox_query::{INBOX, InboxQuery, beyond_link, cursor};
use super::{edit_form, first_request, response_excerpt, tasks};
use crate::error::html;
use crate::form::{Page, PathId};
use crate::notice::see_other;
use crate::session::SignedIn;
use crate::text::grouped;
use crate::view::Search;
use crate::view::approvals::{
    ApprovalPage, Card, CardState, FirstAgent, FirstRequest, InboxPage, Load, Pages, ReturnTo, StandalonePage,
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

pub(crate) async fn inbox(Page { state, who, query }: Page<SignedIn, InboxQuery>) -> Result<Response, Error> {
    if query.wants_ids() {
        return ids(&state.gateway, &who, &query).await;
    }
    let workspace = who.person.workspace();
    // One more than is shown, to find out if there are more.
    let filter = query.filter(&who, SHOWN + 1);
    let waiting = inbox::page(&state.gateway, workspace, &filter, MAX_OPENED).await?;
    if waiting.is_empty() && filter.beyond.is_some() {
        // Everything on this page has been decided.
        return Ok(see_other(&query.start()));
    }
    let last = waiting.get(SHOWN as usize).and(waiting.get(SHOWN as usize - 1)).map(|last| last.row.clone());
    let count = waiting.len().min(SHOWN as usize);
    let pages = pages((&state, workspace), &query, &filter, count, last.as_ref()).await?;
    let cards = Cards::load(&state.gateway.store, &*state.gateway.clock, &who, ReturnTo::Inbox)
        .await?
        .returning_to(query.list());
    let pending = waiting.iter().take(SHOWN as usize).map(|view| waiting_card(&cards, view));
    let groups = grouping::group(pending.collect());
    let decided: Vec<Card> =
        list_decided(&state.gateway, &who, &filter).await?.iter().map(|v| settled_card(&cards, v)).collect();
    let shell = who.shell(&state).await?;
    // Instructions for a first request are for those who have an agent key.
    let first_request = if shell.manager {
        Some(hint(&state.gateway.config, &state.gateway.store, state.gateway.now(), workspace).await?)
    } else {
        None
    };
    let load = load(&state.gateway.store, state.gateway.now(), &who).await?;
    let among = who.rights.approvable();
    let filters = query.filters(&inbox::askers(&state.gateway.store, workspace, among.as_deref()).await?);
    let tasks = tasks::proposed(&state.gateway.store, &*state.gateway.clock, &who).await?;
    html(&InboxPage {
        shell,
        tasks,
        search: Search { path: INBOX.to_owned(), q: query.q().to_owned(), ..Search::default() },
        filters,
        narrowed: query.is_narrowed(),
        list: query.start(),
        list_query: query.list(),
        turned: query.turned(),
        load,
        groups,
        pages,
        decided,
        newest_first: query.is_newest_first(),
        first_request,
    })
}

/// Ids of all matching requests, in order. An open page compares its rows with them.
async fn ids(gateway: &pyxis_gateway::State, who: &SignedIn, query: &InboxQuery) -> Result<Response, Error> {
    let filter = Filter { beyond: None, ..query.filter(who, SHOWN) };
    let ids = inbox::list_ids(gateway, who.person.workspace(), &filter).await?;
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    Ok(axum::Json(json!({ "ids": ids })).into_response())
}

/// Links of a page that is not the whole list. `last` is its last request, if more follow.
async fn pages(
    (state, workspace): (&State, WorkspaceId),
    query: &InboxQuery,
    filter: &Filter,
    count: usize,
    last: Option<&ApprovalRow>,
) -> Result<Option<Pages>, Error> {
    if last.is_none() && filter.beyond.is_none() {
        return Ok(None);
    }
    let all = Filter { beyond: None, ..filter.clone() };
    let start = query.start();
    let total = inbox::count(&state.gateway.store, workspace, &all).await?;
    let next = match last {
        None => None,
        Some(row) => {
            let after = Filter { beyond: Some((row.created_at, row.txn_id)), ..filter.clone() };
            let rest = inbox::count(&state.gateway.store, workspace, &after).await?;
            Some((beyond_link(&start, &cursor(row)), rest.min(SHOWN.into())))
        }
    };
    let noun = if query.is_narrowed() { "found" } else { "pending" };
    Ok(Some(Pages {
        summary: format!("{count} of {} {noun}", grouped(total)),
        more: next.as_ref().map(|(_, rest)| format!("Show {rest} more")),
        next: next.map(|(link, _)| link),
        start: filter.beyond.map(|_| start),
    }))
}

/// The latest decided requests with the same filters.
async fn list_decided(
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    filter: &Filter,
) -> Result<Vec<ApprovalView>, Error> {
    let mut all = Vec::new();
    for wanted in [ApprovalState::Approved, ApprovalState::Denied, ApprovalState::Expired] {
        let filter = Filter { state: Some(wanted), rising: false, beyond: None, limit: 15, ..filter.clone() };
        all.extend(view::list(gateway, who.person.workspace(), &filter).await?);
    }
    all.sort_by_key(|view| std::cmp::Reverse(view.row.decided_at));
    all.truncate(DECIDED);
    Ok(all)
}

/// A pending request with the head of its body. If that is not all of it, the request cannot be approved here: no one
/// should approve what they could not see.
fn waiting_card(cards: &Cards, view: &ApprovalView) -> Comparable {
    let shown = if view.row.body_bytes > MAX_OPENED {
        BodyView::absent(size(&view.row), "The body is too large for this list.")
    } else {
        body(view, HEAD)
    };
    let mut card = cards.card(view, shown);
    if card.body.has_more() && matches!(card.state, CardState::Open { .. }) {
        card.state = CardState::Longer;
    }
    Comparable::new(card, view)
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
async fn load(store: &Store, now: UnixMillis, who: &SignedIn) -> Result<Option<Load>, Error> {
    let asked = approval_load::measure(store, now, &who.person.user, &who.rights).await?;
    Ok((asked.day > 0).then_some(Load {
        hour: asked.hour,
        day: asked.day,
        approved: asked.approved,
        denied: asked.denied,
        heavy: asked.hour > approval_load::MANY_AN_HOUR,
    }))
}

/// Steps for this workspace. The agent's key cannot be shown: only its hash is stored.
async fn hint(
    config: &Config,
    store: &Store,
    now: UnixMillis,
    workspace: WorkspaceId,
) -> Result<FirstRequest, Error> {
    let (agents, credentials) =
        (lists::agents(workspace, now), lists::credentials(store.engine(), workspace, None));
    let by_name = [(CredentialItem::NAME, Direction::Ascending)];
    let agents = agents.read(store, &Slice::first(1, &[])).await.map_err(Service::from)?;
    let credentials = credentials.read(store, &Slice::first(1, &by_name)).await.map_err(Service::from)?;
    let agent =
        agents.first().map(|item| FirstAgent { id: item.row.id.to_string(), name: item.row.name.clone() });
    let credential = credentials.first().map(|item| &item.row);
    let command = first_request(config, "<agent key>", credential);
    Ok(FirstRequest { has_credential: credential.is_some(), agent, command })
}

pub(crate) async fn approval(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let card = load_card(&state, &who, &id, ReturnTo::Approval).await?;
    show(&state, &who, card).await
}

pub(crate) async fn standalone(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let card = load_card(&state, &who, &id, ReturnTo::Standalone).await?;
    show(&state, &who, card).await
}

/// The page of one request.
pub(super) async fn show(state: &State, who: &SignedIn, card: Card) -> Result<Response, Error> {
    let shell = who.shell(state).await?;
    match card.place {
        ReturnTo::Standalone => html(&StandalonePage { shell, card }),
        ReturnTo::Inbox | ReturnTo::Approval => html(&ApprovalPage { shell, card }),
    }
}

pub(super) async fn load_card(
    state: &State,
    who: &SignedIn,
    id: &str,
    place: ReturnTo,
) -> Result<Card, Error> {
    let row = view::row(&state.gateway, who.person.workspace(), txn(id)?).await?;
    who.require_approve(row.credential_id)?;
    let view = view::load_view(&state.gateway, who.person.workspace(), row.txn_id).await?;
    let cards = Cards::load(&state.gateway.store, &*state.gateway.clock, who, place).await?;
    let body = body(&view, usize::MAX);
    let mut card = cards.card(&view, body);
    card.response =
        response_excerpt::load(&state.gateway.store, &state.gateway.keyring, who, place, &view).await?;
    if matches!(card.state, CardState::Open { .. }) && !card.is_tool_call() {
        card.edit = edit_form::form(&view);
    }
    Ok(card)
}

/// Parses a transaction id. A malformed one is not found.
pub(crate) fn txn(text: &str) -> Result<TxnId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}
