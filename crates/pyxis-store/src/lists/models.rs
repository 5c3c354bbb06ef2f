//! The list of suspected groups.

use super::{Direction, ListSpec, SortKey};
use crate::StoreError;
use crate::db::{FromRow, Row};

/// A suspected group in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupItem {
    /// The group as JSON.
    pub document: String,
}

impl FromRow for GroupItem {
    const TABLE: &'static str = "suspect_groups";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self { document: row.take("document")? })
    }
}

/// Suspected groups in their order. A search looks at the whole document.
pub fn suspect_groups() -> ListSpec<GroupItem> {
    ListSpec::new(
        "document",
        " FROM suspect_groups WHERE TRUE",
        &["document"],
        (SortKey::number("position"), Direction::Ascending),
    )
}
