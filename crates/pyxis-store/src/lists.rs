//! Lists that people search, sort, page through and export.
//!
//! A list is literal text: where its rows come from, which texts a search looks at, and by what it can be sorted. A
//! request chooses among sort keys of this crate and supplies values, so nothing that it says becomes SQL.

/// Defines a row of a list: a stored row, and what is read with it.
macro_rules! item {
    ($(#[$meta:meta])* $name:ident: $row:ty { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $name {
            /// The stored row.
            pub row: $row,
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::db::FromRow for $name {
            const TABLE: &'static str = <$row as $crate::db::FromRow>::TABLE;

            fn from_row(row: &mut $crate::db::Row<'_>) -> Result<Self, $crate::StoreError> {
                Ok(Self { row: <$row>::from_row(row)?, $($field: row.take(stringify!($field))?,)* })
            }
        }
    };
}

mod agents;
mod api_keys;
mod credentials;
mod issuers;
mod messages;
mod models;
mod people;
mod policies;
mod scorers;
mod search;
mod webhooks;

use std::marker::PhantomData;

pub use agents::{AgentItem, agents};
pub use api_keys::{ApiKeyItem, HistoryRequestItem, api_keys, history_requests};
pub use credentials::{CredentialItem, credentials};
pub use issuers::issuers;
pub use messages::failing_messages;
pub use models::{GroupItem, suspect_groups};
pub use people::{PersonItem, RightItem, people, rights};
pub use policies::{GrantItem, StagedItem, grants, staged_policies};
pub use scorers::{ScorerItem, scorers};
pub(crate) use search::Contains;
pub use webhooks::{WebhookItem, webhooks};

use crate::db::{Bind, FromRow, SqlQuery, sql};
use crate::{Engine, Executor, StoreError};

/// A row of a list.
pub trait Item: FromRow {}

impl<R: FromRow> Item for R {}

/// A sort direction. A missing value counts as the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

/// A value by which rows of a list of `R` can be sorted. Only this crate creates them.
pub struct SortKey<R> {
    key: ColumnKey,
    list: PhantomData<fn() -> R>,
}

#[derive(Clone, Copy, Debug)]
enum ColumnKey {
    Text(&'static str),
    Exact(&'static str),
    Number(&'static str),
}

impl<R> Clone for SortKey<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for SortKey<R> {}

impl<R> SortKey<R> {
    const fn new(key: ColumnKey) -> Self {
        Self { key, list: PhantomData }
    }

    /// Text, sorted by code point, ignoring the case of ASCII letters.
    pub(crate) const fn text(expression: &'static str) -> Self {
        Self::new(ColumnKey::Text(expression))
    }

    /// Text, sorted by code point: folded names and ids.
    pub(crate) const fn exact(expression: &'static str) -> Self {
        Self::new(ColumnKey::Exact(expression))
    }

    /// A number, time or boolean.
    pub(crate) const fn number(expression: &'static str) -> Self {
        Self::new(ColumnKey::Number(expression))
    }

    fn append(self, query: SqlQuery, engine: Engine, direction: Direction) -> SqlQuery {
        // The collation of the database could ignore punctuation and differ between installations.
        let (start, expression, end) = match (self.key, engine) {
            (ColumnKey::Text(text), Engine::Sqlite) => ("lower(", text, ")"),
            (ColumnKey::Text(text), Engine::Postgres) => ("lower((", text, ") COLLATE \"C\")"),
            (ColumnKey::Exact(text), Engine::Postgres) => ("(", text, ") COLLATE \"C\""),
            (ColumnKey::Exact(text), Engine::Sqlite) | (ColumnKey::Number(text), _) => ("", text, ""),
        };
        let query = query.append(start).append(expression).append(end);
        query.append(match direction {
            Direction::Ascending => " ASC NULLS FIRST",
            Direction::Descending => " DESC NULLS LAST",
        })
    }
}

/// The rows of a list to read.
#[derive(Clone, Copy)]
pub struct Slice<'a, R> {
    /// Text to find, ignoring case; empty finds everything.
    pub search: &'a str,
    /// Sort keys, the most important first. Ties are resolved by the rows' identity.
    pub order: &'a [(SortKey<R>, Direction)],
    /// Number of rows before the slice.
    pub offset: u64,
    /// Maximum number of rows.
    pub limit: u32,
}

impl<'a, R> Slice<'a, R> {
    /// The first rows in an order.
    pub const fn first(limit: u32, order: &'a [(SortKey<R>, Direction)]) -> Self {
        Self { search: "", order, offset: 0, limit }
    }
}

/// A list of `R`.
pub struct ListSpec<R> {
    columns: &'static str,
    rows: SqlQuery,
    searched: &'static [&'static str],
    identity: (SortKey<R>, Direction),
}

impl<R> Clone for ListSpec<R> {
    fn clone(&self) -> Self {
        Self { rows: self.rows.clone(), ..*self }
    }
}

impl<R: Item> ListSpec<R> {
    /// A list of `columns`, which have no parameters, from `rows`: ` FROM … WHERE …`, whose parameters are bound next.
    /// A search looks at the expressions in `searched`. `identity` is unique; it orders rows that are equal otherwise.
    pub(crate) fn new(
        columns: &'static str,
        rows: &'static str,
        searched: &'static [&'static str],
        identity: (SortKey<R>, Direction),
    ) -> Self {
        Self { columns, rows: sql(rows), searched, identity }
    }

    /// Limits the list to rows whose `column` is one of `values`; `None` for all rows.
    pub(crate) fn among<T: Bind>(
        mut self,
        engine: Engine,
        column: &'static str,
        values: Option<Vec<T>>,
    ) -> Self {
        self.rows = match values {
            None => self.rows,
            Some(none) if none.is_empty() => self.rows.append(" AND FALSE"),
            Some(values) => self.rows.and_in(engine, column, values),
        };
        self
    }

    /// Binds the next parameter of the rows.
    pub(crate) fn bind(mut self, value: impl Bind) -> Self {
        self.rows = self.rows.bind(value);
        self
    }

    /// Limits the list by a condition on `value`, if there is one.
    fn only(mut self, condition: &'static str, value: Option<impl Bind>) -> Self {
        self.rows = self.rows.push_if(condition, value);
        self
    }

    /// The list, or an empty one unless its reader `may` see it.
    #[must_use]
    pub fn visible_if(self, may: bool) -> Self {
        if may { self } else { Self { rows: self.rows.append(" AND FALSE"), ..self } }
    }

    /// Number of rows with the text.
    pub async fn count(&self, executor: impl Executor, search: &str) -> Result<u64, StoreError> {
        let found = self.rows.contains(executor.engine(), self.searched, search);
        let count: Vec<(i64,)> = executor.all(found.selecting("count(*)")).await?;
        Ok(count.first().map_or(0, |(count,)| u64::try_from(*count).unwrap_or(0)))
    }

    /// The rows of a slice. A row that is added or removed between two reads may move others across their border.
    pub async fn read(&self, executor: impl Executor, slice: &Slice<'_, R>) -> Result<Vec<R>, StoreError> {
        let engine = executor.engine();
        let found = self.rows.contains(engine, self.searched, slice.search).selecting(self.columns);
        let mut query = found.append(" ORDER BY ");
        for (key, direction) in slice.order {
            query = key.append(query, engine, *direction).append(", ");
        }
        let (identity, direction) = self.identity;
        let query = identity.append(query, engine, direction).limit(slice.limit);
        let offset = i64::try_from(slice.offset).unwrap_or(i64::MAX);
        executor.all(query.push(" OFFSET ?", offset)).await
    }
}
