//! The orders of approvals, page by page: ties are told apart by the transaction.

use super::ApprovalFilter;
use crate::db::SqlQuery;

/// What approvals are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalColumn {
    /// When they were asked for.
    #[default]
    Asked,
    /// The host of the target.
    Host,
    /// The agent's name, whatever its case.
    Agent,
    /// The credential's name, whatever its case.
    Credential,
    /// The word of the state.
    State,
}

/// How a page begins after the last row of the page before, and its order: rising, then falling.
type Order = [(&'static str, &'static str); 2];

/// Sorted by an expression whose value the row itself has.
macro_rules! by {
    ($key:literal) => {
        [
            (after!($key, ">"), concat!(" ORDER BY ", $key, ", txn_id")),
            (after!($key, "<"), concat!(" ORDER BY ", $key, " DESC, txn_id DESC")),
        ]
    };
}

macro_rules! after {
    ($key:literal, $than:literal) => {
        concat!(
            " AND (",
            $key,
            ", txn_id) ",
            $than,
            " (SELECT ",
            $key,
            ", txn_id FROM approvals WHERE workspace_id = $1 AND txn_id = ?)"
        )
    };
}

impl ApprovalColumn {
    const fn order(self) -> Order {
        match self {
            Self::Asked => by!("created_at"),
            Self::Host => by!("target_host"),
            Self::Agent => by!("lower(agent_name)"),
            Self::Credential => by!("lower(credential_name)"),
            Self::State => by!("state"),
        }
    }
}

/// The page that the filter asks for.
pub(super) fn ordered(query: SqlQuery, filter: &ApprovalFilter) -> SqlQuery {
    let [rising, falling] = filter.by.order();
    let (after, order) = if filter.rising { rising } else { falling };
    let query = match filter.beyond {
        Some((at, txn)) if filter.by == ApprovalColumn::Asked => {
            let after = if filter.rising {
                " AND (created_at, txn_id) > (?"
            } else {
                " AND (created_at, txn_id) < (?"
            };
            query.push(after, at).push(", ?)", txn)
        }
        beyond => query.push_if(after, beyond.map(|(_, txn)| txn)),
    };
    query.then(order).limit(filter.limit)
}
