//! Keyset paging: newest first, continuing after the last row of the previous page.

use pyxis_core::clock::UnixMillis;

/// A page of a list ordered by creation, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    /// Last row of the previous page; `None` for the first page.
    pub before: Option<(UnixMillis, Id)>,
    /// Maximum number of rows.
    pub limit: u32,
}

impl<Id> Page<Id> {
    /// The first page, with at most `limit` rows.
    pub const fn first(limit: u32) -> Self {
        Self { before: None, limit }
    }
}
