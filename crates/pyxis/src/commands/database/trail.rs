//! Doctor: the database file, and the audit trail compared with its last signed head.

use pyxis_store::audit::{self, AuditKeys};
use pyxis_store::integrity::{self, Integrity};
use pyxis_store::{Store, StoreError};

use super::Finding;
use crate::config::Config;
use crate::signed_head;

/// Advice for a database file that is damaged.
pub(super) const RESTORE: &str = "stop Pyxis, keep the file, and restore the newest backup on a healthy disk: see \
     \"Restore\" in docs/guides/back-up-restore-upgrade.md";
const MISSING: &str = "look for the database first, then restore the newest backup: see \"When the database is missing\" \
     in docs/guides/back-up-restore-upgrade.md";
const CHANGED: &str = "the database was changed outside Pyxis; compare it with a backup";

/// The finding for a database that is not here anymore.
pub(super) fn missing_database(error: &anyhow::Error) -> Finding {
    Finding::bad("database", format!("{error:#}"), MISSING)
}

/// Examines every page, index and reference of a SQLite file.
pub(super) async fn file(store: &Store) -> Finding {
    let part = "database file";
    match integrity::check(store).await {
        Ok(Integrity::Intact) => Finding::good(part),
        Ok(Integrity::NotChecked) => Finding::good(part).detail("left to PostgreSQL".to_owned()),
        Ok(Integrity::Damaged(damage)) => Finding::bad(part, damage, RESTORE),
        Err(error) => Finding::bad(part, error, "check the disk of the database"),
    }
}

/// Verifies the whole trail, and looks for the record that the signed head outside the database names.
pub(super) async fn records(config: &Config, store: &Store, keys: &AuditKeys) -> Vec<Finding> {
    let trail = match audit::verify(store, keys, None, |_, _| {}).await {
        Ok(verdict) => match verdict.damage {
            None => Finding::good("audit trail"),
            Some(damage) => {
                Finding::bad("audit trail", format!("record {}: {}", damage.seq, damage.kind), CHANGED)
            }
        },
        Err(error) => Finding::bad("audit trail", error, "check the database"),
    };
    vec![trail, head(config, store, keys).await]
}

async fn head(config: &Config, store: &Store, keys: &AuditKeys) -> Finding {
    let part = "signed audit head";
    let head = match signed_head::read(config) {
        Ok(Some(head)) => head,
        Ok(None) => return Finding::good(part).detail("none yet; a server writes it".to_owned()),
        Err(error) => return Finding::bad(part, format!("{error:#}"), signed_head::ADVICE),
    };
    let found: Result<_, StoreError> = audit::find_head(store, keys, &head).await;
    match found.map(|found| signed_head::describe_match(found, &head)) {
        Ok(None) => Finding::good(part).detail(format!("names record {}, which is here", head.seq)),
        Ok(Some(missing)) => Finding::bad(part, missing, signed_head::ADVICE),
        Err(error) => Finding::bad(part, error, "check the database"),
    }
}
