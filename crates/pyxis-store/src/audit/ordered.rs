//! The orders of the trail, page by page: ties are told apart by the number of the record.

/// What records are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditColumn {
    /// When they were made.
    #[default]
    At,
    /// What happened, and what was decided.
    Kind,
    /// The actor's name, whatever its case.
    Actor,
    /// The host of the target, else the credential.
    Subject,
    /// The status of the outcome.
    Status,
}

/// What follows the record `?`, and the order. The value that it is sorted by is looked up, so that nothing
/// but its number is taken from a query.
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
    /// What narrows to the records after the one of number `?`, and the order.
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
