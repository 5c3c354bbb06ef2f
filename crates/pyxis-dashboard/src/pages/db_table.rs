//! Sort columns of a list without page numbers, such as the audit trail. Each page continues after the last row of
//! the previous one, so a growing log does not move rows between pages.

use super::table::heading;
use crate::view::{Order, SortLink};

/// A list that is read with a cursor. The query names a column, but its text never becomes part of the database
/// query.
pub(super) struct Stored<C: 'static> {
    /// Each column's name, its counterpart in the store, and its initial order.
    pub(super) columns: &'static [(&'static str, C, Order)],
    /// The default order.
    pub(super) usual: &'static str,
}

impl<C: Copy> Stored<C> {
    /// The column to sort by, and true if the smallest comes first.
    pub(super) fn sort_column(&self, sort: &str) -> (C, bool) {
        let (name, order) = Order::parse(self.known(sort));
        let column = self.columns.iter().find(|(column, ..)| *column == name).unwrap_or(&self.columns[0]);
        (column.1, order == Order::Ascending)
    }

    /// The headings; `href` links to the first page in another order.
    pub(super) fn links(&self, sort: &str, href: impl Fn(&str) -> String) -> Vec<SortLink> {
        let present = self.known(sort);
        self.columns.iter().map(|(name, _, first)| heading(name, present, *first, &href)).collect()
    }

    /// The requested order if such a column exists, otherwise the default.
    fn known<'a>(&self, sort: &'a str) -> &'a str {
        let (name, _) = Order::parse(sort);
        if self.columns.iter().any(|(column, ..)| *column == name) { sort } else { self.usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LETTERS: Stored<char> = Stored {
        columns: &[("when", 'w', Order::Descending), ("who", 'o', Order::Ascending)],
        usual: "-when",
    };

    #[test]
    fn a_query_names_a_column_of_the_list_or_gets_the_usual_order() {
        for (sort, expected) in
            [("", ('w', false)), ("when", ('w', true)), ("-who", ('o', false)), ("who desc", ('w', false))]
        {
            assert_eq!(LETTERS.sort_column(sort), expected, "{sort}");
        }
    }

    #[test]
    fn a_heading_turns_its_order_and_another_one_begins_anew() {
        let links = LETTERS.links("nonsense", str::to_owned);
        assert_eq!((links[0].href.as_str(), links[0].order), ("when", Some(Order::Descending)));
        assert_eq!((links[1].href.as_str(), links[1].order), ("who", None));
    }
}
