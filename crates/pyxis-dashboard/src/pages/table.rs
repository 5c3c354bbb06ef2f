//! Lists with columns. Each column can be sorted by and is in the exported file.
//!
//! A list that can grow is stored: the database searches, sorts and pages it, and exports are read piece by piece. A
//! list that is short by nature, or computed, is held in memory.

use std::borrow::Borrow;
use std::cmp::Reverse;

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::csv;
use pyxis_core::decimal::Decimal;
use pyxis_store::Store;
use pyxis_store::lists::{Direction, Item, ListSpec, Slice, SortKey};

use super::file;
use super::list_query::{ListQuery, ListSlot, PAGE, controls, read};
use crate::Error;
use crate::text::plain;
use crate::view::{Order, Search, SortLink};

/// Lines of a stored list that an export reads at a time.
const CHUNK: u32 = 1000;

/// Value of a column. Texts start with the smallest, everything else with the largest or latest.
pub(super) enum By<T> {
    /// Text. In memory it is sorted ignoring case.
    Text(fn(&T) -> String),
    /// A count, or a place in an order of words.
    Number(fn(&T) -> i64),
    /// An exact number.
    Amount(fn(&T) -> Decimal),
    /// A time; one that never happened comes before all others.
    Time(fn(&T) -> Option<UnixMillis>),
}

/// Sort key of a row in memory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RowKey {
    Text(String),
    Number(Option<i64>),
}

impl<T> By<T> {
    fn key(&self, row: &T) -> RowKey {
        match self {
            Self::Text(text) => RowKey::Text(text(row).to_lowercase()),
            Self::Number(number) => RowKey::Number(Some(number(row))),
            Self::Amount(amount) => RowKey::Number(Some(amount(row).units())),
            Self::Time(time) => RowKey::Number(time(row).map(|at| at.0)),
        }
    }

    fn cell(&self, row: &T) -> String {
        match self {
            Self::Text(text) => text(row),
            Self::Number(number) => number(row).to_string(),
            Self::Amount(amount) => plain(amount(row)),
            Self::Time(time) => time(row).map(UnixMillis::to_rfc3339).unwrap_or_default(),
        }
    }

    /// The initial order.
    const fn first(&self) -> Order {
        match self {
            Self::Text(_) => Order::Ascending,
            Self::Number(_) | Self::Amount(_) | Self::Time(_) => Order::Descending,
        }
    }
}

/// A column: its name, its value, and its sort key in the database. In memory the value is the key.
type Column<T, K> = (&'static str, By<T>, K);

/// A list of a page: `Table<T>` in memory, `Table<T, SortKey<T>>` in the database. A row may hold more than its columns
/// show; only columns are in the file.
pub(super) struct Table<T: 'static, K: 'static = ()> {
    /// Name of the exported file.
    pub(super) name: &'static str,
    /// Position among the lists of the page.
    pub(super) place: ListSlot,
    /// Columns in the order of the file. Only their names sort anything.
    pub(super) columns: &'static [Column<T, K>],
    /// The default order, as in a query: `name`, `-created`. It also breaks ties.
    pub(super) usual: &'static str,
}

impl<T: 'static, K: 'static> Table<T, K> {
    /// The column and order that a query names, if there is such a column.
    fn find_column(&self, sort: &str) -> Option<(&Column<T, K>, Order)> {
        let (name, order) = Order::parse(sort);
        self.columns.iter().find(|(column, ..)| *column == name).map(|column| (column, order))
    }

    /// The search state with the headings and the file.
    fn with_headings(&self, path: &str, find: &ListQuery, search: Search) -> Search {
        let asked = find.sort_of(self.place);
        let present = if self.find_column(asked).is_some() { asked } else { self.usual };
        let link = |(name, by, _): &Column<T, K>| {
            heading(name, present, by.first(), |next| find.link(path, self.place.sort(), next))
        };
        let columns = self.columns.iter().map(link).collect();
        Search { columns, csv: Some(find.file_link(path, self.name)), ..search }
    }
}

fn head<T, K>(columns: &[Column<T, K>]) -> String {
    csv::line(columns.iter().map(|(name, ..)| name)) + "\r\n"
}

fn lines<'a, T: 'a, K>(columns: &[Column<T, K>], rows: impl IntoIterator<Item = &'a T>) -> String {
    let line = |row| csv::line(columns.iter().map(|(_, by, _)| by.cell(row))) + "\r\n";
    rows.into_iter().map(line).collect()
}

impl<R: Item> Table<R, SortKey<R>> {
    /// Everything found as CSV, if requested.
    pub(super) fn file(&self, store: &Store, find: &ListQuery, list: &ListSpec<R>) -> Option<Response> {
        if find.export != self.name {
            return None;
        }
        let (store, list, columns, order) = (store.clone(), list.clone(), self.columns, self.order(find));
        let search = find.q.trim().to_owned();
        let body = file::pieces(head(columns), 0, move |offset| {
            let (store, list, order, search) = (store.clone(), list.clone(), order.clone(), search.clone());
            async move {
                let slice = Slice { search: &search, order: &order, offset, limit: CHUNK };
                let rows = list.read(&store, &slice).await?;
                let is_full = rows.len() >= CHUNK as usize;
                Ok((lines(columns, &rows), is_full.then_some(offset + u64::from(CHUNK))))
            }
        });
        Some(file::csv(self.name, body))
    }

    /// The requested page of rows, and the search state shown around them.
    pub(super) async fn page(
        &self,
        store: &Store,
        path: &str,
        find: &ListQuery,
        list: &ListSpec<R>,
    ) -> Result<(Vec<R>, Search), Error> {
        let (shown, search) = read(store, self.place, path, find, list, &self.order(find)).await?;
        Ok((shown, self.with_headings(path, find, search)))
    }

    fn order(&self, find: &ListQuery) -> Vec<(SortKey<R>, Direction)> {
        let named =
            self.find_column(find.sort_of(self.place)).into_iter().chain(self.find_column(self.usual));
        named.map(|((_, _, key), order)| (*key, order.into())).collect()
    }
}

impl<T: 'static> Table<T> {
    /// Everything found as CSV, if requested.
    pub(super) fn file(&self, find: &ListQuery, rows: &[T]) -> Option<Response> {
        (find.export == self.name).then(|| {
            let rows = self.sorted(find, rows.iter().collect());
            file::csv(self.name, (head(self.columns) + &lines(self.columns, rows)).into())
        })
    }

    /// The requested page of rows, and the search state shown around them.
    pub(super) fn page(&self, path: &str, find: &ListQuery, rows: Vec<T>) -> (Vec<T>, Search) {
        let total = rows.len();
        let page = find.requested(self.place, total);
        let sorted = self.sorted(find, rows).into_iter();
        let shown: Vec<T> = sorted.skip((page - 1) * PAGE).take(PAGE).collect();
        let search = controls(self.place, path, find, (page, total, shown.len()));
        (shown, self.with_headings(path, find, search))
    }

    fn sorted<R: Borrow<T>>(&self, find: &ListQuery, mut rows: Vec<R>) -> Vec<R> {
        let usual = self.find_column(self.usual);
        for ((_, by, ()), order) in usual.into_iter().chain(self.find_column(find.sort_of(self.place))) {
            match order {
                Order::Ascending => rows.sort_by_cached_key(|row| by.key(row.borrow())),
                Order::Descending => rows.sort_by_cached_key(|row| Reverse(by.key(row.borrow()))),
            }
        }
        rows
    }
}

/// A link that sorts by `name`, or reverses its order if that is the `present` one.
pub(super) fn heading(
    name: &'static str,
    present: &str,
    first: Order,
    href: impl Fn(&str) -> String,
) -> SortLink {
    let (sorted, order) = Order::parse(present);
    let order = (sorted == name).then_some(order);
    let next = order.map_or(first, Order::turned).name(name);
    SortLink { name, href: href(&next), order }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    type Pair = (&'static str, i64);

    const PAIRS: Table<Pair> = Table {
        name: "pairs",
        place: ListSlot::Second,
        columns: &[
            ("name", By::Text(|pair| pair.0.to_owned()), ()),
            ("used", By::Number(|pair| pair.1), ()),
            ("seen", By::Time(|pair| (pair.1 > 1).then_some(UnixMillis(pair.1))), ()),
        ],
        usual: "name",
    };
    const ROWS: [Pair; 4] = [("c", 1), ("B", 2), ("a", 2), ("=d", 10)];

    fn list_query(sort: &str) -> ListQuery {
        serde_json::from_value(serde_json::json!({ "second_sort": sort, "q": "x", "second": "1" })).unwrap()
    }

    fn names(sort: &str) -> Vec<&'static str> {
        PAIRS.page("/x", &list_query(sort), ROWS.to_vec()).0.into_iter().map(|pair| pair.0).collect()
    }

    #[test]
    fn rows_are_sorted_by_a_column_and_ties_keep_the_usual_order() {
        for usual in ["", "name", "nonsense", "-nonsense", "--name", "name; DROP TABLE agents"] {
            assert_eq!(names(usual), ["=d", "a", "B", "c"], "{usual}");
        }
        assert_eq!(names("-name"), ["c", "B", "a", "=d"]);
        assert_eq!(names("used"), ["c", "a", "B", "=d"]);
        assert_eq!(names("-used"), ["=d", "a", "B", "c"]);
        assert_eq!(names("seen"), ["c", "a", "B", "=d"], "never is first");
    }

    #[test]
    fn a_heading_turns_the_order_of_its_column_and_keeps_search_and_page() {
        let links = |sort: &str| PAIRS.page("/x", &list_query(sort), Vec::new()).1.columns;
        let told = |sort: &str| links(sort).into_iter().map(|link| link.order).collect::<Vec<_>>();
        assert_eq!(told("nonsense"), [Some(Order::Ascending), None, None]);
        assert_eq!(told("-used"), [None, Some(Order::Descending), None]);
        let to = |sort: &str, n: usize| links(sort)[n].href.clone();
        assert_eq!(to("", 0), "/x?q=x&second_sort=%2Dname&second=1");
        assert_eq!(to("-name", 0), "/x?q=x&second_sort=name&second=1");
        assert_eq!(to("", 1), "/x?q=x&second_sort=%2Dused&second=1", "the most first");
    }

    #[tokio::test]
    async fn a_file_has_every_row_in_the_order_that_is_asked_for() {
        assert!(PAIRS.file(&list_query(""), &ROWS).is_none(), "nobody asked for it");
        let mut find = list_query("-used");
        find.export = "pairs".to_owned();
        let body = PAIRS.file(&find, &ROWS).unwrap().into_body();
        let text = String::from_utf8(to_bytes(body, 10_000).await.unwrap().to_vec()).unwrap();
        let at = "1970-01-01T00:00:00.002Z";
        let rows = format!("'=d,10,1970-01-01T00:00:00.010Z\r\na,2,{at}\r\nB,2,{at}\r\nc,1,\r\n");
        assert_eq!(text, format!("name,used,seen\r\n{rows}"));
    }
}
