//! Sort orders of the audit trail with keyset paging. Ties are resolved by record number.

/// Sort column for audit records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditColumn {
    /// Time of the record.
    #[default]
    At,
    /// Event, then decision.
    Kind,
    /// Actor name, ignoring case.
    Actor,
    /// Host of the target, or else the credential.
    Subject,
    /// Status of the outcome.
    Status,
}

/// Condition for records after record `?`, and the order. The sort value is looked up, so that a query supplies only
/// the record number.
macro_rules! by {
    ($key:literal, $than:literal, $direction:literal) => {
        (
            concat!(
                " AND (",
                $key,
                ", r.seq) ",
                $than,
                " (SELECT ",
                $key,
                ", r.seq FROM audit_records r \
                 LEFT JOIN audit_records o ON o.ref_seq = r.seq AND o.kind = 'outcome' \
                 AND o.workspace_id = r.workspace_id WHERE r.workspace_id = $1 AND r.seq = ?)"
            ),
            concat!(" ORDER BY ", $key, $direction, ", r.seq", $direction),
        )
    };
    ($key:literal, $rising:expr) => {
        if $rising { by!($key, ">", "") } else { by!($key, "<", " DESC") }
    };
}

impl AuditColumn {
    /// Condition for records after record number `?`, and the order.
    pub(super) const fn order(self, rising: bool) -> (&'static str, &'static str) {
        match self {
            Self::At if rising => (" AND r.seq > ?", " ORDER BY r.seq"),
            Self::At => (" AND r.seq < ?", " ORDER BY r.seq DESC"),
            Self::Kind => by!("(r.kind || ' ' || coalesce(r.decision, ''))", rising),
            Self::Actor => by!("lower(r.actor_name)", rising),
            Self::Subject => by!("coalesce(r.host, r.credential, '')", rising),
            Self::Status => by!("coalesce(o.status, r.status, 0)", rising),
        }
    }
}
