//! The list of scorers.

use pyxis_core::decimal::Decimal;
use pyxis_core::id::WorkspaceId;

use super::{Direction, ListSpec, SortKey};
use crate::scorers::{ScorerRow, scorer_columns};

item! {
    /// A scorer in a list.
    ScorerItem: ScorerRow {
        /// Number of Stamps with a weight.
        stamps: i64,
        /// Sum of the weights.
        sum: Decimal,
        /// Number of scored addresses.
        scored: i64,
    }
}

macro_rules! stamps {
    () => {
        "(SELECT count(*) FROM scorer_weights WHERE scorer_weights.scorer_id = scorers.id)"
    };
}

macro_rules! sum {
    () => {
        "(SELECT CAST(coalesce(sum(weight), 0) AS BIGINT) FROM scorer_weights \
         WHERE scorer_weights.scorer_id = scorers.id)"
    };
}

macro_rules! scored {
    () => {
        "(SELECT count(*) FROM scores WHERE scores.scorer_id = scorers.id)"
    };
}

impl ScorerItem {
    /// Name, ignoring case.
    pub const NAME: SortKey<Self> = SortKey::text("name");
    /// Number of the scorer.
    pub const NUMBER: SortKey<Self> = SortKey::number("id");
    pub const THRESHOLD: SortKey<Self> = SortKey::number("threshold");
    /// Number of Stamps with a weight.
    pub const STAMPS: SortKey<Self> = SortKey::number(stamps!());
    /// Sum of the weights.
    pub const SUM: SortKey<Self> = SortKey::number(sum!());
    /// Number of scored addresses.
    pub const SCORED: SortKey<Self> = SortKey::number(scored!());
    /// Creation time.
    pub const CREATED: SortKey<Self> = SortKey::number("created_at");
}

pub fn scorers(workspace: WorkspaceId) -> ListSpec<ScorerItem> {
    ListSpec::new(
        concat!(scorer_columns!(), ", ", stamps!(), ", ", sum!(), ", ", scored!()),
        " FROM scorers WHERE workspace_id = $1 AND revision > 0",
        &["name", "CAST(id AS TEXT)"],
        (SortKey::number("id"), Direction::Ascending),
    )
    .bind(workspace)
}
