//! Checks that a copy passes before it counts as a backup.

use std::path::Path;

use super::damaged;
use crate::audit::{self, AuditKeys, Checkpoint};
use crate::{DatabaseUrl, OpenOptions, Store, StoreError, integrity};

/// Check of the audit trail in a copy.
#[derive(Clone, Copy)]
pub struct TrailCheck<'a> {
    /// Keys of the trail.
    pub keys: &'a AuditKeys,
    /// Newest signed head known outside the database, read before the backup began.
    pub head: Option<&'a Checkpoint>,
}

impl TrailCheck<'_> {
    /// Verifies every record up to the head. Returns their number.
    pub(super) async fn run(self, copy: &Path) -> Result<i64, StoreError> {
        let options = OpenOptions { readers: 1, ..OpenOptions::new(DatabaseUrl::sqlite(copy)) };
        let store = Store::open(&options)?;
        let verdict = audit::verify(&store, self.keys, self.head, |_, _| ()).await?;
        store.close().await?;
        match verdict.damage {
            None => Ok(verdict.records),
            Some(damage) => Err(StoreError::Backup(format!(
                "the audit trail is damaged at record {}: {}; no backup was written. Run pyxis audit verify, and \
                 keep the backups from before",
                damage.seq, damage.kind
            ))),
        }
    }
}

/// Checks every page, index and reference of a copy, and makes it a single file.
pub(super) fn pages(copy: &Path) -> Result<(), StoreError> {
    let connection = pyxis_sqlite::connect_plain(copy)?;
    if let Some(damage) = integrity::examine(&connection) {
        return Err(damaged(&damage));
    }
    super::make_single_file(connection)
}
