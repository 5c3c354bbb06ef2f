//! What stands around a list: its search field, orders, pages and file.

/// The search field of a list, its orders, its pages and its file.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The page that searches.
    pub path: String,
    /// What was looked for.
    pub q: String,
    /// What else the form sends, so that a search keeps it.
    pub kept: Vec<(&'static str, String)>,
    /// Link to the list that is not narrowed; empty: `path`.
    pub all: String,
    /// `50 of 120`.
    pub summary: String,
    /// The page before.
    pub before: Option<String>,
    /// The next page.
    pub next: Option<String>,
    /// The columns by which it can be sorted.
    pub columns: Vec<SortLink>,
    /// Link to the whole list as CSV.
    pub csv: Option<String>,
}

impl Search {
    /// True if the list was narrowed: an empty one then means that nothing was found.
    pub fn is_narrowed(&self) -> bool {
        !self.q.is_empty()
    }

    /// True if there is more than one page.
    pub fn has_pages(&self) -> bool {
        self.before.is_some() || self.next.is_some()
    }

    /// Where nothing is looked for.
    pub(crate) fn all(&self) -> &str {
        if self.all.is_empty() { &self.path } else { &self.all }
    }

    /// The link that sorts by a column.
    pub(crate) fn column(&self, name: &str) -> Option<&SortLink> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A column by which a list can be sorted.
#[derive(Clone, Debug)]
pub struct SortLink {
    /// Its name in the query.
    pub name: &'static str,
    /// Link that sorts by it, or that turns its order.
    pub href: String,
    /// How the list is sorted by it now.
    pub order: Option<Order>,
}

/// A direction of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From A to Z, from few to many, from old to new.
    Ascending,
    /// The other way.
    Descending,
}

impl Order {
    /// The column and direction that a query names: `name`, `-name`.
    pub(crate) fn named(sort: &str) -> (&str, Self) {
        sort.strip_prefix('-').map_or((sort, Self::Ascending), |name| (name, Self::Descending))
    }

    /// What a query says for this direction of a column.
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

    /// What `aria-sort` says.
    pub const fn word(self) -> &'static str {
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
