//! Quiet hours of a person: hours of the day in which messages to them wait.

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::quiet_hours::QuietHours;
use pyxis_store::Store;
use pyxis_store::audit::AuditedStore;
use pyxis_store::quiet_hours::{self, QuietHoursRow};
use pyxis_store::users::UserRow;
use serde_json::json;

use super::callers::Caller;
use crate::error::{Error, Result};

/// Quiet hours of a person. Stored ones that can no longer be read count as none.
pub async fn get(store: &Store, user: &UserRow) -> Result<Option<QuietHours>> {
    let found = quiet_hours::find(store, user.workspace_id, user.id).await?;
    Ok(found.and_then(|row| row.hours()))
}

/// Sets the caller's quiet hours: a time zone by its IANA name, and two times such as `22:00`.
pub async fn set(db: &AuditedStore, caller: &Caller, zone: &str, from: &str, to: &str) -> Result<QuietHours> {
    let parsed = QuietHours::parse(zone.trim(), from, to);
    let hours = parsed.map_err(|error| Error::field(error.field(), error.to_string()))?;
    let row = QuietHoursRow {
        user_id: caller.user.id,
        workspace_id: caller.workspace(),
        time_zone: hours.zone().to_owned(),
        start_minute: hours.start().into(),
        end_minute: hours.end().into(),
    };
    let actor = caller.actor();
    let mut change = db.begin(&actor).await?;
    quiet_hours::set(&mut change.tx, &row).await?;
    let detail = json!({ "time_zone": hours.zone(), "from": hours.from_text(), "to": hours.to_text() });
    change.commit(AuditEvent::UserQuietHoursChanged, detail).await?;
    Ok(hours)
}

/// Removes the caller's quiet hours. Messages already held back still wait for the old end.
pub async fn remove(db: &AuditedStore, caller: &Caller) -> Result<()> {
    let actor = caller.actor();
    let mut change = db.begin(&actor).await?;
    if !quiet_hours::remove(&mut change.tx, caller.workspace(), caller.user.id).await? {
        return Err(Error::not_found("quiet hours"));
    }
    Ok(change.commit(AuditEvent::UserQuietHoursChanged, json!({ "removed": true })).await?)
}
