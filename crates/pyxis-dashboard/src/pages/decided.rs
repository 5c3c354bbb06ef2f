//! Everything that is over: what a person may decide, and what came of it.

use axum::extract::State as Extract;
use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_gateway::approvals::view::{self, Filter};
use serde::Deserialize;

use super::cards::Cards;
use super::inbox::{beyond_link, cursor, read_cursor, settled_card};
use crate::error::html;
use crate::form::Asked;
use crate::session::SignedIn;
use crate::view::Search;
use crate::view::approvals::{Card, DecidedPage, Pages, Place};
use crate::{Error, State, text};

const HERE: &str = "/app/decided";
/// Requests on a page.
const SHOWN: usize = 50;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Which {
    q: String,
    /// The last request of the page before.
    after: String,
}

pub(crate) async fn page(
    Extract(state): Extract<State>,
    who: SignedIn,
    Asked(Which { q, after }): Asked<Which>,
) -> Result<Response, Error> {
    let q = q.trim();
    let beyond = read_cursor(&after);
    // One more than is shown tells whether there are more.
    let filter = Filter {
        settled: true,
        text: q.to_owned(),
        among: who.rights.approvable(),
        beyond,
        limit: u32::try_from(SHOWN + 1).unwrap_or(u32::MAX),
        ..Filter::default()
    };
    let found = view::list(&state.gateway, who.person.workspace(), &filter).await?;
    let more = found.get(SHOWN).and(found.get(SHOWN - 1)).map(|last| cursor(&last.row));
    let cards = Cards::of(&state, &who, Place::Inbox).await?;
    let decided: Vec<Card> = found.iter().take(SHOWN).map(|view| settled_card(&cards, view)).collect();
    let start = if q.is_empty() {
        HERE.to_owned()
    } else {
        format!("{HERE}?q={}", utf8_percent_encode(q, NON_ALPHANUMERIC))
    };
    let pages = (more.is_some() || beyond.is_some()).then(|| Pages {
        summary: text::counted(decided.len() as u64, "request"),
        next: more.map(|cursor| beyond_link(&start, &cursor)),
        start: beyond.map(|_| start),
    });
    let search = Search { path: HERE.to_owned(), q: q.to_owned(), ..Search::default() };
    html(&DecidedPage { shell: who.shell(&state).await?, search, decided, pages })
}
