//! Queries on the log.
//!
//! Every query for a workspace includes `kind <> 'outcome'`, because the index covers only those rows. `kind` holds the
//! first name of each event ([`AuditEvent::stored_kind`]).

use pyxis_core::actor::ActorId;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{NodeId, TxnId, WorkspaceId};
use pyxis_core::policy::Method;

use super::ordered::AuditColumn;
use super::{AuditRow, audit_columns, read_rest, sent_without_asking};
use crate::db::{FromRow, Row, sql};
use crate::lists::Contains;
use crate::{Executor, StoreError, StoredName};

/// Filter for audit records; `None` and empty lists match all.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Events of the records.
    pub events: Vec<AuditEvent>,
    /// Actor, as in [`AuditRecord::actor`](super::AuditRecord::actor).
    pub actor: Option<ActorId>,
    /// Credential name.
    pub credential: Option<String>,
    /// Decision about the request. An unknown word matches records of newer versions only.
    pub decision: Option<StoredName<AuditDecision>>,
    /// HTTP method. An unknown word matches records of newer versions only.
    pub method: Option<StoredName<Method>>,
    /// Host name of the target.
    pub host: Option<String>,
    /// First digit of the status of the record or its outcome.
    pub status_class: Option<i64>,
    /// Only requests that were sent and got no response.
    pub failed: bool,
    /// Text in actor name, host, credential or detail, ignoring case.
    pub text: Option<String>,
    /// Start time, inclusive.
    pub from: Option<UnixMillis>,
    /// End time, exclusive.
    pub to: Option<UnixMillis>,
    /// Sort column.
    pub by: AuditColumn,
    /// True for ascending order (oldest or smallest first).
    pub rising: bool,
    /// Last record of the previous page; only later ones in sort order are returned.
    pub beyond_seq: Option<i64>,
    /// Maximum number of records; 0 means 100.
    pub limit: u32,
}

/// A record and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The request or change.
    pub record: AuditRow,
    /// Outcome of the record, if any.
    pub outcome: Option<AuditRow>,
}

impl FromRow for AuditEntry {
    const TABLE: &'static str = "audit_records";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let record = AuditRow::from_row(row)?;
        let outcome: Option<i64> = row.take("seq")?;
        let outcome = outcome.map(|seq| read_rest(seq, row)).transpose()?;
        Ok(Self { record, outcome })
    }
}

const DEFAULT_LIMIT: u32 = 100;
/// The text that a search looks at.
const SEARCHED: &str =
    "(r.actor_name || ' ' || coalesce(r.host, '') || ' ' || coalesce(r.credential, '') || ' ' || r.detail)";

/// Records of a workspace that are not outcomes, in the order of the filter, each with its outcome.
pub async fn search(
    executor: impl Executor,
    workspace: WorkspaceId,
    filter: &AuditFilter,
) -> Result<Vec<AuditEntry>, StoreError> {
    let (beyond, order) = filter.by.order(filter.rising);
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        ", ",
        audit_columns!("o"),
        " FROM audit_records r LEFT JOIN audit_records o ON o.ref_seq = r.seq AND o.kind = 'outcome' \
         AND o.workspace_id = r.workspace_id WHERE r.workspace_id = $1 AND r.kind <> 'outcome'"
    ))
    .bind(workspace)
    .and_in(executor.engine(), "r.kind", filter.events.iter().map(|event| event.stored_kind()))
    .push_if(" AND r.actor = ?", filter.actor.as_ref())
    .push_if(" AND r.credential = ?", filter.credential.as_ref())
    .push_if(" AND r.decision = ?", filter.decision.as_ref())
    .push_if(" AND r.method = ?", filter.method.as_ref())
    .push_if(" AND r.host = ?", filter.host.as_ref())
    .push_if(" AND coalesce(o.status, r.status) / 100 = ?", filter.status_class)
    .append(if filter.failed { " AND o.seq IS NOT NULL AND o.status IS NULL" } else { "" })
    .contains(executor.engine(), &[SEARCHED], filter.text.as_deref().unwrap_or(""))
    .push_if(" AND r.at >= ?", filter.from)
    .push_if(" AND r.at < ?", filter.to)
    .push_if(beyond, filter.beyond_seq)
    .append(order)
    .limit(if filter.limit == 0 { DEFAULT_LIMIT } else { filter.limit });
    executor.all(query).await
}

/// Number of requests per decision, in buckets of `bucket_ms` that start at `from`.
pub async fn decisions_over_time(
    executor: impl Executor,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<(UnixMillis, StoredName<AuditDecision>, i64)>, StoreError> {
    let query = sql(
        "SELECT CAST($1 AS BIGINT) + (at - $1) / $2 * $2, decision, count(*) FROM audit_records \
         WHERE workspace_id = $3 AND kind <> 'outcome' AND kind = 'forward' AND at >= $1 AND at < $4 AND decision IS NOT NULL \
         GROUP BY 1, 2 ORDER BY 1, 2",
    );
    executor.all(query.bind(from).bind(bucket_ms.max(1)).bind(workspace).bind(to)).await
}

/// Number of an actor's requests with one decision, in one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Start of the bucket.
    pub at: UnixMillis,
    /// Actor, as in [`AuditRecord::actor`](super::AuditRecord::actor).
    pub actor: ActorId,
    /// A name that the actor had.
    pub name: String,
    /// Decision about the requests.
    pub decision: StoredName<AuditDecision>,
    /// Number of requests.
    pub count: i64,
}

impl FromRow for Tally {
    const TABLE: &'static str = "audit_records";

    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            at: row.take("at")?,
            actor: row.take("actor")?,
            name: row.take("actor_name")?,
            decision: row.take("decision")?,
            count: row.take("count")?,
        })
    }
}

/// Requests by actor and decision, in buckets of `bucket_ms` that start at `from`.
pub async fn requests_over_time(
    executor: impl Executor,
    workspace: WorkspaceId,
    from: UnixMillis,
    to: UnixMillis,
    bucket_ms: i64,
) -> Result<Vec<Tally>, StoreError> {
    let query =
        sql("SELECT CAST($1 AS BIGINT) + (at - $1) / $2 * $2, actor, max(actor_name), decision, count(*) \
         FROM audit_records WHERE workspace_id = $3 AND kind <> 'outcome' AND kind = 'forward' \
         AND at >= $1 AND at < $4 AND decision IS NOT NULL GROUP BY 1, 2, 4 ORDER BY 1, 2, 4");
    executor.all(query.bind(from).bind(bucket_ms.max(1)).bind(workspace).bind(to)).await
}

/// The newest requests with a credential, newest first. Their detail contains the path as `path`.
pub async fn recent_forwards(
    executor: impl Executor,
    workspace: WorkspaceId,
    credential: &str,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        " FROM audit_records r WHERE r.workspace_id = $1 AND r.credential = $2 AND r.kind <> 'outcome' \
         AND r.kind = 'forward' \
         ORDER BY r.seq DESC"
    ));
    executor.all(query.bind(workspace).bind(credential).limit(limit)).await
}

/// A page of entries after `after_seq`, oldest first, of one workspace or of all. Used for exports.
pub async fn entries(
    executor: impl Executor,
    after_seq: i64,
    workspace: Option<WorkspaceId>,
    limit: u32,
) -> Result<Vec<AuditEntry>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        ", ",
        audit_columns!("o"),
        " FROM audit_records r LEFT JOIN audit_records o ON o.ref_seq = r.seq AND o.kind = 'outcome' \
         AND o.workspace_id = r.workspace_id WHERE r.seq > $1 AND r.kind <> 'outcome'"
    ))
    .bind(after_seq)
    .push_if(" AND r.workspace_id = ?", workspace)
    .append(" ORDER BY r.seq")
    .limit(limit);
    executor.all(query).await
}

/// A page of records from `from_seq` on, oldest first, of one workspace or of all.
pub async fn stream(
    executor: impl Executor,
    from_seq: i64,
    workspace: Option<WorkspaceId>,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    let query = sql(concat!("SELECT ", audit_columns!("r"), " FROM audit_records r WHERE r.seq >= $1"))
        .bind(from_seq)
        .push_if(" AND r.workspace_id = ?", workspace)
        .append(" ORDER BY r.seq")
        .limit(limit);
    executor.all(query).await
}

/// Records that name an approval request, oldest first.
pub async fn of_transaction(
    executor: impl Executor,
    workspace: WorkspaceId,
    txn: TxnId,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        " FROM audit_records r WHERE r.txn_id = $1 AND r.workspace_id = $2 ORDER BY r.seq"
    ));
    executor.all(query.bind(txn).bind(workspace).limit(limit)).await
}

/// The outcome of the request that is recorded as `seq`.
pub async fn outcome_of(executor: impl Executor, seq: i64) -> Result<Option<AuditRow>, StoreError> {
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        " FROM audit_records r WHERE r.ref_seq = $1 AND r.kind = 'outcome' ORDER BY r.seq"
    ));
    executor.optional(query.bind(seq).limit(1)).await
}

/// Number of the newest record, 0 without any.
pub async fn head_seq(executor: impl Executor) -> Result<i64, StoreError> {
    let head: Option<(i64,)> = executor.optional(sql("SELECT seq FROM audit_head WHERE id = 1")).await?;
    Ok(head.map_or(0, |(seq,)| seq))
}

/// Records `after < seq <= through` of requests that were sent and have no outcome, oldest first. These are those
/// that no person was asked about, and WebSockets, whose approval ends when they open. With `node`, only those
/// whose detail names it.
pub async fn sent_without_outcome(
    executor: impl Executor,
    after: i64,
    through: i64,
    node: Option<NodeId>,
) -> Result<Vec<AuditRow>, StoreError> {
    let of_node = node.map(|node| format!("%\"node\":\"{node}\"%"));
    let query = sql(concat!(
        "SELECT ",
        audit_columns!("r"),
        " FROM audit_records r WHERE r.seq > $1 AND r.seq <= $2 \
         AND ",
        sent_without_asking!(),
        " AND NOT EXISTS (SELECT 1 FROM audit_records o WHERE o.ref_seq = r.seq AND o.kind = 'outcome')"
    ))
    .bind(after)
    .bind(through)
    .push_if(" AND r.detail LIKE ?", of_node)
    .append(" ORDER BY r.seq");
    executor.all(query).await
}
