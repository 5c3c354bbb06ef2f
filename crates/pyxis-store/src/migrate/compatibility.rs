//! Programs of several releases on one database.
//!
//! Each applied migration records the oldest level that may still use the database. A program that meets newer
//! migrations uses the database if that level is not above its own. Every node records its level with its heartbeat, so
//! that a migration that older nodes cannot bear is refused while one runs.

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::NodeId;

use super::{Effect, Migration};
use crate::db::{self, row, sql};
use crate::{RELEASE, StoreError};

/// First level whose rows have `readable_from`, and whose nodes record their level.
pub(super) const SINCE: i64 = 40;

/// The newest applied migration, 0 if there is none.
pub(crate) const NEWEST: &str = "SELECT CAST(coalesce(max(version), 0) AS BIGINT) FROM schema_migrations";

row! {
    pub(crate) Applied: "schema_migrations", columns {
        version: i64,
        checksum: String,
        /// Oldest level that may use the database.
        readable_from: Option<i64>,
        /// Release that applied it.
        release: Option<String>,
    }
}

/// The statement that reads applied migrations, for a database with [`NEWEST`].
pub(crate) fn applied(newest: Option<(i64,)>) -> &'static str {
    if records_levels(newest) {
        concat!("SELECT ", columns!(), " FROM schema_migrations ORDER BY version")
    } else {
        "SELECT version, checksum, CAST(NULL AS BIGINT), CAST(NULL AS TEXT) FROM schema_migrations ORDER BY version"
    }
}

fn records_levels(newest: Option<(i64,)>) -> bool {
    newest.is_some_and(|(version,)| version >= SINCE)
}

impl Applied {
    /// The refusal of a migration that this program does not know.
    pub(super) fn unknown(&self) -> StoreError {
        let (version, release) = (self.version, self.release.as_deref());
        StoreError::Schema(match release {
            Some(release) => refusal(version, release),
            None => format!(
                "the database has migration {version}, which this version of Pyxis does not know: use a newer version"
            ),
        })
    }
}

/// Refusal of a database that `release` changed.
pub(crate) fn refusal(version: i64, release: &str) -> String {
    format!(
        "Pyxis {release} changed this database (migration {version}) so that this release, {RELEASE}, can no longer \
         use it: start Pyxis {release} or newer, or restore the backup made before that upgrade"
    )
}

/// Allows newer migrations if a program of `level` may go on with each of them.
pub(super) fn allow(newer: &[Applied], level: i64) -> Result<(), StoreError> {
    let allows = |applied: &Applied| applied.readable_from.is_some_and(|oldest| oldest <= level);
    newer.iter().find(|applied| !allows(applied)).map_or(Ok(()), |applied| Err(applied.unknown()))
}

/// The newest migration to apply that ends the work of older nodes. A new database has none.
pub(super) fn breaking<'m>(missing: &'m [Migration], applied: &[Applied]) -> Option<&'m Migration> {
    if applied.is_empty() {
        return None;
    }
    missing.iter().rev().find(|migration| migration.effect == Effect::Breaking)
}

/// Node of an older level.
pub(super) type OlderNode = (NodeId, Option<String>);

/// The query for nodes below `level` with a heartbeat at or after `alive_since`.
pub(super) fn running(newest: Option<(i64,)>, level: i64, alive_since: UnixMillis) -> db::SqlQuery {
    // A node that is known to be dead has seen_at 0.
    if records_levels(newest) {
        let query = sql("SELECT node_id, release FROM nodes WHERE seen_at >= $1 AND seen_at > 0 \
             AND coalesce(level, 0) < $2 ORDER BY started_at, node_id");
        query.bind(alive_since).bind(level)
    } else {
        let query = sql("SELECT node_id, CAST(NULL AS TEXT) FROM nodes WHERE seen_at >= $1 AND seen_at > 0 \
             ORDER BY started_at, node_id");
        query.bind(alive_since)
    }
}

impl Migration {
    /// Refuses to apply this migration while these nodes run.
    pub(super) fn refuse_beside(&self, nodes: &[OlderNode]) -> Result<(), StoreError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let name = |(node, release): &OlderNode| {
            format!("{node} (release {})", release.as_deref().unwrap_or("before 0.1.0"))
        };
        let nodes = nodes.iter().map(name).collect::<Vec<_>>().join(", ");
        Err(StoreError::Schema(format!(
            "migration {} of release {RELEASE} would break older nodes that are running: {nodes}. Nothing was changed. \
             Stop them, then start this release again. A node that was killed counts as running for 20 seconds",
            self.name
        )))
    }
}
