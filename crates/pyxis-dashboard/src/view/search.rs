//! Controls around a list: its search field, orders, pages and file.

/// The search field of a list, its orders, its pages and its file.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Path of the page.
    pub path: String,
    /// Search text.
    pub q: String,
    /// Other fields that the form sends, so that a search keeps them.
    pub kept: Vec<(&'static str, String)>,
    /// Link to the unfiltered list; empty: `path`.
    pub all: String,
    /// `50 of 120`.
    pub summary: String,
    /// The previous page.
    pub before: Option<String>,
    /// The next page.
    pub next: Option<String>,
    /// The sortable columns.
    pub columns: Vec<SortLink>,
    /// Link to the whole list as CSV.
    pub csv: Option<String>,
}

impl Search {
    /// True if the list was filtered: an empty one then means that nothing was found.
    pub fn is_narrowed(&self) -> bool {
        !self.q.is_empty()
    }

    /// True if there is more than one page.
    pub fn has_pages(&self) -> bool {
        self.before.is_some() || self.next.is_some()
    }

    /// Link to the unfiltered list.
    pub(crate) fn all(&self) -> &str {
        if self.all.is_empty() { &self.path } else { &self.all }
    }

    /// The link that sorts by a column.
    pub(crate) fn column(&self, name: &str) -> Option<&SortLink> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A sortable column.
#[derive(Clone, Debug)]
pub struct SortLink {
    /// Its name in the query.
    pub name: &'static str,
    /// Link that sorts by it, or that reverses its order.
    pub href: String,
    /// Current order of the list by this column.
    pub order: Option<Order>,
}

/// A sort direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From A to Z, from few to many, from old to new.
    Ascending,
    /// The reverse.
    Descending,
}

impl Order {
    /// The column and direction that a query names: `name`, `-name`.
    pub(crate) fn parse(sort: &str) -> (&str, Self) {
        sort.strip_prefix('-').map_or((sort, Self::Ascending), |name| (name, Self::Descending))
    }

    /// Query value for a column in this direction.
    pub(crate) fn name(self, column: &str) -> String {
        match self {
            Self::Ascending => column.to_owned(),
            Self::Descending => format!("-{column}"),
        }
    }

    /// The other direction.
    pub(crate) const fn turned(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }

    /// Value of `aria-sort`.
    pub const fn aria_sort(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }

    /// Its arrow in the sprite.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Ascending => "up",
            Self::Descending => "down",
        }
    }
}

impl From<Order> for pyxis_store::lists::Direction {
    fn from(order: Order) -> Self {
        match order {
            Order::Ascending => Self::Ascending,
            Order::Descending => Self::Descending,
        }
    }
}
