//! The query of a list: search text, pages, orders and a file.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_gateway::Error as Service;
use pyxis_store::Store;
use pyxis_store::lists::{Direction, Item, ListSpec, Slice, SortKey};
use serde::Deserialize;

use crate::Error;
use crate::view::Search;

/// Lines on one page.
const PAGE_ROWS: u32 = 50;
/// The same as a length.
pub(super) const PAGE: usize = PAGE_ROWS as usize;

/// Position of a list among the lists of its page. The same search applies to all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListSlot {
    First,
    Second,
    Third,
}

impl ListSlot {
    /// The query parameter with its page, from 1.
    const fn page(self) -> &'static str {
        match self {
            Self::First => "page",
            Self::Second => "second",
            Self::Third => "third",
        }
    }

    /// The query parameter with its order.
    pub(super) const fn sort(self) -> &'static str {
        match self {
            Self::First => "sort",
            Self::Second => "second_sort",
            Self::Third => "third_sort",
        }
    }
}

/// The query of a page with up to three lists.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    /// Text to find.
    pub(crate) q: String,
    page: String,
    second: String,
    third: String,
    sort: String,
    second_sort: String,
    third_sort: String,
    /// The list to export as a file.
    pub(super) export: String,
    /// Other query parameters of the page, repeated in every link of its lists.
    #[serde(skip)]
    also: Vec<(&'static str, String)>,
}

impl ListQuery {
    /// True if any of `texts` contains the search text, ignoring case.
    pub(crate) fn fits<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> bool {
        let wanted = self.q.trim().to_lowercase();
        wanted.is_empty() || texts.into_iter().any(|text| text.to_lowercase().contains(&wanted))
    }

    /// The same, with one more parameter in every link.
    pub(super) fn also(mut self, name: &'static str, value: &str) -> Self {
        self.also.push((name, value.to_owned()));
        self
    }

    /// The requested order.
    pub(super) fn sort_of(&self, place: ListSlot) -> &str {
        match place {
            ListSlot::First => &self.sort,
            ListSlot::Second => &self.second_sort,
            ListSlot::Third => &self.third_sort,
        }
    }

    fn page_of(&self, place: ListSlot) -> &str {
        match place {
            ListSlot::First => &self.page,
            ListSlot::Second => &self.second,
            ListSlot::Third => &self.third,
        }
    }

    /// The requested page of `total` lines, from 1. Anything else is the first or the last.
    pub(super) fn requested(&self, place: ListSlot, total: usize) -> usize {
        self.page_of(place).parse::<usize>().unwrap_or(1).clamp(1, last_page(total))
    }

    /// Parameters that a new search keeps: everything but the text and the pages.
    fn retained_parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let also = self.also.iter().map(|(name, value)| (*name, value.as_str()));
        let places = [ListSlot::First, ListSlot::Second, ListSlot::Third];
        also.chain(places.map(|place| (place.sort(), self.sort_of(place))))
    }

    /// A link to the same list with one parameter changed; it keeps its pages.
    pub(super) fn link(&self, path: &str, changed: &'static str, value: &str) -> String {
        let places = [ListSlot::First, ListSlot::Second, ListSlot::Third];
        let pages = places.map(|place| (place.page(), self.page_of(place)));
        let all = std::iter::once(("q", self.q.trim())).chain(self.retained_parameters()).chain(pages);
        link(path, all.map(|(name, old)| (name, if name == changed { value } else { old })))
    }

    /// A link to everything found, as a file.
    pub(super) fn file_link(&self, path: &str, list: &'static str) -> String {
        let all = std::iter::once(("q", self.q.trim())).chain(self.retained_parameters());
        link(path, all.chain([("export", list)]))
    }
}

/// `path` with those parameters that are not empty.
pub(super) fn link<'a>(path: &str, query: impl IntoIterator<Item = (&'static str, &'a str)>) -> String {
    let said = query.into_iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<_> = said
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
        .collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

/// The requested page of a stored list in an order, and the search state shown around it.
pub(super) async fn read<R: Item>(
    store: &Store,
    place: ListSlot,
    path: &str,
    find: &ListQuery,
    list: &ListSpec<R>,
    order: &[(SortKey<R>, Direction)],
) -> Result<(Vec<R>, Search), Error> {
    let search = find.q.trim();
    let total = list.count(store, search).await.map_err(Service::from)?;
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let page = find.requested(place, total);
    let offset = ((page - 1) * PAGE) as u64;
    let slice = Slice { search, order, offset, limit: PAGE_ROWS };
    let shown = list.read(store, &slice).await.map_err(Service::from)?;
    let controls = controls(place, path, find, (page, total, shown.len()));
    Ok((shown, controls))
}

/// The search state shown around a page with some of `total` lines.
pub(super) fn controls(
    place: ListSlot,
    path: &str,
    find: &ListQuery,
    (page, total, shown): (usize, usize, usize),
) -> Search {
    let to = |number: usize| find.link(path, place.page(), &number.to_string());
    let kept = find.retained_parameters().filter(|(_, value)| !value.is_empty());
    Search {
        path: path.to_owned(),
        q: find.q.trim().to_owned(),
        kept: kept.map(|(name, value)| (name, value.to_owned())).collect(),
        all: link(path, find.retained_parameters()),
        summary: format!("{shown} of {total}"),
        before: (page > 1).then(|| to(page - 1)),
        next: (page < last_page(total)).then(|| to(page + 1)),
        ..Search::default()
    }
}

fn last_page(total: usize) -> usize {
    total.div_ceil(PAGE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_query(q: &str, page: &str) -> ListQuery {
        ListQuery { q: q.to_owned(), page: page.to_owned(), ..ListQuery::default() }
    }

    /// The controls of a list of 120 lines.
    fn of_120(place: ListSlot, path: &str, find: &ListQuery) -> (usize, Search) {
        let page = find.requested(place, 120);
        (page, controls(place, path, find, (page, 120, 50)))
    }

    #[test]
    fn a_long_list_is_cut_into_pages_that_link_to_each_other() {
        let (page, search) = of_120(ListSlot::First, "/app/people", &list_query("a b", "2"));
        assert_eq!((page, search.summary.as_str()), (2, "50 of 120"));
        assert_eq!(search.before.as_deref(), Some("/app/people?q=a%20b&page=1"));
        assert_eq!(search.next.as_deref(), Some("/app/people?q=a%20b&page=3"));
        for nonsense in ["", "0", "-1", "x", "99999999999999999999"] {
            assert_eq!(of_120(ListSlot::First, "/app/people", &list_query("", nonsense)).0, 1, "{nonsense}");
        }
        let (_, below) = of_120(ListSlot::Second, "/app/policies", &ListQuery::default());
        assert_eq!(below.next.as_deref(), Some("/app/policies?second=2"));
        let third = ListQuery { third: "3".to_owned(), ..ListQuery::default() };
        let (_, last) = of_120(ListSlot::Third, "/app/policies", &third);
        assert_eq!(last.before.as_deref(), Some("/app/policies?third=2"));
        let (page, last) = of_120(ListSlot::First, "/app/people", &list_query("", "9"));
        assert_eq!((page, last.next), (3, None));
        assert_eq!([0, 1, 50, 51, 100].map(last_page), [1, 1, 1, 2, 2]);
    }

    #[test]
    fn a_link_keeps_what_it_does_not_change_and_a_new_search_keeps_the_orders() {
        let find = ListQuery { second: "2".into(), sort: "-name".into(), ..list_query(" a ", "3") }
            .also("range", "7d");
        let (_, search) = of_120(ListSlot::Second, "/x", &find);
        assert_eq!(search.next.as_deref(), Some("/x?q=a&range=7d&sort=%2Dname&page=3&second=3"));
        assert_eq!(search.kept, [("range", "7d".to_owned()), ("sort", "-name".to_owned())]);
        assert_eq!(search.all, "/x?range=7d&sort=%2Dname");
        assert_eq!(find.file_link("/x", "grants"), "/x?q=a&range=7d&sort=%2Dname&export=grants");
    }

    #[test]
    fn what_is_looked_for_is_found_whatever_its_case() {
        assert!(list_query(" ANA ", "").fits(["bo", "ana@example.com"]));
        assert!(list_query("", "").fits([]));
        assert!(!list_query("x", "").fits(["bo"]));
    }
}
