//! Requests without approval that were open at a time, for a person who compares them with their upstreams.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;

use super::search::{AuditEntry, head_seq, sent_without_outcome};
use super::{audit_columns, sent_without_asking};
use crate::db::sql;
use crate::{Executor, Store, StoreError};

/// Records of one statement, so that each is short however long the trail is.
const WINDOW: i64 = 5_000;
/// Longest time by which records can be out of order: a record has the time of its event, not of its commit.
const DISORDER: Duration = Duration::from_mins(10);

/// Requests that were sent without asking a person, WebSockets included, and were open between `from` and `to`; oldest
/// first. They have no outcome, or `outcome_unknown` recorded since `from`. A request is open for `longest` at most: an
/// older one without an outcome is from another incident. Without a workspace, those of all.
pub async fn open_between(
    store: &Store,
    workspace: Option<WorkspaceId>,
    (from, to): (UnixMillis, UnixMillis),
    longest: Duration,
) -> Result<Vec<AuditEntry>, StoreError> {
    let head = head_seq(store).await?;
    let earliest = from.minus(longest);
    let begin = last_before(store, head, earliest.minus(DISORDER)).await?;
    let end = last_before(store, head, to.plus(DISORDER)).await?;
    let mut found = Vec::new();
    for (after, through) in windows(begin, end) {
        let sent = sent_without_outcome(store, after, through, None).await?;
        found.extend(sent.into_iter().map(|record| AuditEntry { record, outcome: None }));
    }
    // A node that comes back late records what it had left much later.
    for (after, through) in windows(last_before(store, head, from.minus(DISORDER)).await?, head) {
        let unknown = ended_as_unknown(store, after, through).await?;
        found.extend(
            unknown.into_iter().filter(|entry| entry.outcome.as_ref().is_some_and(|o| o.record.at >= from)),
        );
    }
    found.retain(|entry| {
        let record = &entry.record.record;
        let is_wanted = workspace.is_none_or(|wanted| record.workspace_id == Some(wanted));
        is_wanted && record.at >= earliest && record.at <= to
    });
    // A request can get its outcome between the two readings; the later one knows more.
    found.sort_by_key(|entry| (entry.record.seq, entry.outcome.is_none()));
    found.dedup_by_key(|entry| entry.record.seq);
    Ok(found)
}

/// Parts of `after < seq <= through`.
fn windows(after: i64, through: i64) -> impl Iterator<Item = (i64, i64)> {
    let starts = std::iter::successors(Some(after), |start| start.checked_add(WINDOW));
    starts.take_while(move |start| *start < through).map(move |start| (start, (start + WINDOW).min(through)))
}

/// Number of the last record before `time`, 0 without any.
async fn last_before(store: &Store, head: i64, time: UnixMillis) -> Result<i64, StoreError> {
    let (mut low, mut high) = (0, head);
    while low < high {
        let middle = low + (high - low) / 2;
        let query = sql("SELECT seq, at FROM audit_records WHERE seq > $1 ORDER BY seq LIMIT 1");
        match store.optional::<(i64, UnixMillis)>(query.bind(middle)).await? {
            Some((seq, at)) if at < time => low = seq.min(high),
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Requests whose outcome is unknown and recorded as `after < seq <= through`.
async fn ended_as_unknown(
    executor: impl Executor,
    after: i64,
    through: i64,
) -> Result<Vec<AuditEntry>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        ", ",
        audit_columns!("o"),
        " FROM audit_records o JOIN audit_records r ON r.seq = o.ref_seq \
         WHERE o.seq > $1 AND o.seq <= $2 AND o.kind = 'outcome' \
         AND o.detail LIKE '%\"error\":\"outcome_unknown\"%' \
         AND ",
        sent_without_asking!(),
        " ORDER BY o.seq"
    ));
    executor.all(query.bind(after).bind(through)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_every_record_once() {
        assert_eq!(windows(7, 7).count(), 0);
        assert_eq!(windows(0, 3).collect::<Vec<_>>(), [(0, 3)]);
        let all: Vec<_> = windows(10, 10_011).collect();
        assert_eq!(all, [(10, 5_010), (5_010, 10_010), (10_010, 10_011)]);
    }
}
