//! Result rows, read column by column in SELECT order.

use rusqlite::types::ValueRef;
use tokio_postgres::types::Type;

use super::value::{Cell, Column};
use crate::StoreError;

enum Raw<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

/// Cursor over the columns of one row.
pub struct Row<'r> {
    raw: Raw<'r>,
    next: usize,
    table: &'static str,
}

impl<'r> Row<'r> {
    pub(super) const fn sqlite(row: &'r rusqlite::Row<'r>, table: &'static str) -> Self {
        Self { raw: Raw::Sqlite(row), next: 0, table }
    }

    pub(crate) const fn postgres(row: &'r tokio_postgres::Row, table: &'static str) -> Self {
        Self { raw: Raw::Postgres(row), next: 0, table }
    }

    /// The next column. `column` is its name in errors.
    pub fn take<T: Column>(&mut self, column: &'static str) -> Result<T, StoreError> {
        let index = self.next;
        self.next += 1;
        self.cell(index).and_then(T::read).ok_or_else(|| StoreError::Corrupt {
            table: self.table,
            column,
            row: self.identity(),
        })
    }

    /// The next column as an integer; booleans are converted.
    pub(crate) fn take_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.cell(self.next) {
            Some(Cell::Bool(value)) => {
                self.next += 1;
                Ok(Some(value.into()))
            }
            _ => self.take("value"),
        }
    }

    fn identity(&self) -> String {
        match self.cell(0) {
            Some(Cell::Text(text)) => text.to_owned(),
            Some(Cell::Int(number)) => number.to_string(),
            _ => "unknown".to_owned(),
        }
    }

    fn cell(&self, index: usize) -> Option<Cell<'r>> {
        match self.raw {
            Raw::Sqlite(row) => sqlite_cell(row, index),
            Raw::Postgres(row) => postgres_cell(row, index),
        }
    }
}

fn sqlite_cell<'r>(row: &'r rusqlite::Row<'r>, index: usize) -> Option<Cell<'r>> {
    match row.get_ref(index).ok()? {
        ValueRef::Null => Some(Cell::Null),
        ValueRef::Integer(value) => Some(Cell::Int(value)),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().map(Cell::Text),
        ValueRef::Blob(bytes) => Some(Cell::Bytes(bytes)),
        ValueRef::Real(_) => None,
    }
}

fn postgres_cell(row: &tokio_postgres::Row, index: usize) -> Option<Cell<'_>> {
    let kind = row.columns().get(index)?.type_();
    let cell = match *kind {
        Type::INT8 => row.try_get::<_, Option<i64>>(index).ok()?.map(Cell::Int),
        Type::INT4 => row.try_get::<_, Option<i32>>(index).ok()?.map(|value| Cell::Int(value.into())),
        Type::TEXT | Type::VARCHAR | Type::NAME => {
            row.try_get::<_, Option<&str>>(index).ok()?.map(Cell::Text)
        }
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(index).ok()?.map(Cell::Bytes),
        Type::BOOL => row.try_get::<_, Option<bool>>(index).ok()?.map(Cell::Bool),
        _ => return None,
    };
    Some(cell.unwrap_or(Cell::Null))
}

/// A type that is read from one row.
pub trait FromRow: Sized + Send + 'static {
    /// Table name for errors.
    const TABLE: &'static str;

    /// Reads the columns in order.
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError>;
}

/// A row or its decoding error, for readers that continue past bad rows.
pub(crate) struct Attempt<T>(pub(crate) Result<T, StoreError>);

/// Rows that this program can read. The others have values that only a newer release knows, or are damaged. They must
/// not hide the rows next to them.
pub(crate) fn readable<T: FromRow>(rows: Vec<Attempt<T>>) -> Vec<T> {
    let all = rows.len();
    let read: Vec<T> = rows.into_iter().filter_map(|Attempt(row)| row.ok()).collect();
    if read.len() < all {
        let unreadable = all - read.len();
        tracing::warn!(table = T::TABLE, unreadable, "rows were left out that this release cannot read");
    }
    read
}

impl<T: FromRow> FromRow for Attempt<T> {
    const TABLE: &'static str = T::TABLE;

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self(T::from_row(row)))
    }
}

macro_rules! tuple_row {
    ($($name:ident),+) => {
        impl<$($name: Column + Send + 'static),+> FromRow for ($($name,)+) {
            const TABLE: &'static str = "query";

            fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
                Ok(($(row.take::<$name>(stringify!($name))?,)+))
            }
        }
    };
}

tuple_row!(A);
tuple_row!(A, B);
tuple_row!(A, B, C);
tuple_row!(A, B, C, D);
tuple_row!(A, B, C, D, E);

/// Defines a row struct, its decoding, and a macro with its column list, so that the SELECT list and the decoding
/// cannot diverge.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident: $table:literal, $columns:ident {
            $(#[$first_meta:meta])* $first:ident: $first_type:ty,
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $(#[$first_meta])* $vis $first: $first_type,
            $($(#[$field_meta])* $vis $field: $type,)*
        }

        impl $crate::db::FromRow for $name {
            const TABLE: &'static str = $table;

            fn from_row(row: &mut $crate::db::Row<'_>) -> Result<Self, $crate::StoreError> {
                Ok(Self {
                    $first: row.take(stringify!($first))?,
                    $($field: row.take(stringify!($field))?,)*
                })
            }
        }

        macro_rules! $columns {
            () => { concat!(stringify!($first) $(, ", ", stringify!($field))*) };
        }
    };
}
pub(crate) use row;
