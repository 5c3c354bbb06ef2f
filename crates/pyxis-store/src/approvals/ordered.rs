//! Sort orders of approvals with keyset paging. Ties are resolved by transaction id.

use super::ApprovalFilter;
use crate::db::SqlQuery;

/// Sort column for approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalColumn {
    /// Time of the request.
    #[default]
    Asked,
    /// Host of the target.
    Host,
    /// Agent name, ignoring case.
    Agent,
    /// Credential name, ignoring case.
    Credential,
    /// Name of the state.
    State,
}

/// Page condition after the last row of the previous page, and sort order: ascending, then descending.
type Order = [(&'static str, &'static str); 2];

/// Sorts by an expression whose value the row itself contains.
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

/// Adds the filter's page condition and order.
pub(super) fn ordered(query: SqlQuery, filter: &ApprovalFilter) -> SqlQuery {
    let [rising, falling] = filter.by.order();
    let (_, order) = if filter.rising { rising } else { falling };
    after(query, filter).append(order).limit(filter.limit)
}

/// Adds the filter's page condition.
pub(super) fn after(query: SqlQuery, filter: &ApprovalFilter) -> SqlQuery {
    let [rising, falling] = filter.by.order();
    let (after, _) = if filter.rising { rising } else { falling };
    match filter.beyond {
        Some((at, txn)) if filter.by == ApprovalColumn::Asked => {
            let after = if filter.rising {
                " AND (created_at, txn_id) > (?"
            } else {
                " AND (created_at, txn_id) < (?"
            };
            query.push(after, at).push(", ?)", txn)
        }
        beyond => query.push_if(after, beyond.map(|(_, txn)| txn)),
    }
}
