//! Paging by keyset: newest first, from the last row of the page before.

use pyxis_core::clock::UnixMillis;

/// A page of a list that is ordered by creation, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<Id> {
    /// The last row of the page before; `None` for the first page.
    pub before: Option<(UnixMillis, Id)>,
    /// Most rows.
    pub limit: u32,
}

impl<Id> Page<Id> {
    /// The first page.
    pub const fn first(limit: u32) -> Self {
        Self { before: None, limit }
    }
}
