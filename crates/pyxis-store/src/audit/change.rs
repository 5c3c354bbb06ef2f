//! Administrative changes: the change, its audit record and its event commit together.

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;

use super::{AuditKeys, AuditRecord, append_in};
use crate::{StoreError, StoreEvent, Tx};

/// Records the change made in `tx` and commits it. `detail` is a JSON object; neither it nor `credential` may contain a
/// secret.
pub async fn commit_change(
    mut tx: Tx,
    keys: &AuditKeys,
    now: UnixMillis,
    actor: &Actor,
    event: AuditEvent,
    credential: Option<&str>,
    detail: String,
) -> Result<(), StoreError> {
    let mut record = AuditRecord::new(now, event);
    record.workspace_id = Some(actor.workspace);
    record.actor.clone_from(&actor.id);
    record.actor_name.clone_from(&actor.name);
    record.credential = credential.map(str::to_owned);
    record.detail = detail;
    append_in(&mut tx, keys, &[record]).await?;
    tx.notify(StoreEvent::Configuration);
    tx.commit().await
}
