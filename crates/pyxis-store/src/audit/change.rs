//! Administrative changes: the change, its audit record and its event commit together.

use std::sync::Arc;

use pyxis_core::actor::Actor;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::hex;
use serde_json::Value;

use super::{AuditKeys, AuditRecord, append_in};
use crate::db::sql;
use crate::{Executor, Store, StoreError, StoreEvent, Tx};

/// A store whose changes are on the audit trail: what most operations of managers need.
#[derive(Clone)]
pub struct AuditedStore {
    /// For reads.
    pub store: Store,
    keys: AuditKeys,
    clock: Arc<dyn Clock>,
}

impl AuditedStore {
    pub const fn new(store: Store, keys: AuditKeys, clock: Arc<dyn Clock>) -> Self {
        Self { store, keys, clock }
    }

    /// The current time.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Begins a change in the actor's workspace.
    pub async fn begin<'a>(&'a self, actor: &'a Actor) -> Result<Change<'a>, StoreError> {
        Ok(self.within(self.store.begin().await?, actor))
    }

    /// A change in the actor's workspace, made in a transaction that was begun before.
    pub const fn within<'a>(&'a self, tx: Tx, actor: &'a Actor) -> Change<'a> {
        Change { tx, by: self, actor }
    }
}

/// A change in progress.
pub struct Change<'a> {
    pub tx: Tx,
    /// The change's author.
    pub actor: &'a Actor,
    by: &'a AuditedStore,
}

impl Change<'_> {
    /// Records the change and commits. `detail` is a JSON object and must hold no secret.
    pub async fn commit(self, event: AuditEvent, detail: Value) -> Result<(), StoreError> {
        self.commit_about(event, None, detail).await
    }

    /// Records the change without committing, for a receipt in the same transaction. Returns the record's number and
    /// its MAC in hex. `detail` is a JSON object and must hold no secret. Finish with [`Self::commit_recorded`].
    pub async fn record(&mut self, event: AuditEvent, detail: &Value) -> Result<(i64, String), StoreError> {
        let record = self.record_of(event, None, detail);
        let seq = append_in(&mut self.tx, &self.by.keys, &[record]).await?.first().copied();
        let seq = seq.ok_or(StoreError::Aborted)?;
        let found: Option<(Vec<u8>,)> =
            self.tx.optional(sql("SELECT mac FROM audit_records WHERE seq = $1").bind(seq)).await?;
        let (mac,) = found.ok_or(StoreError::Aborted)?;
        Ok((seq, hex::encode(&mac)))
    }

    /// Records what else the change did, one record for each detail, without committing. Each is a JSON object and must
    /// hold no secret. Comes right before the commit: from here on, no one else can append.
    pub async fn record_each(&mut self, event: AuditEvent, details: &[Value]) -> Result<(), StoreError> {
        let records: Vec<_> = details.iter().map(|detail| self.record_of(event, None, detail)).collect();
        if !records.is_empty() {
            append_in(&mut self.tx, &self.by.keys, &records).await?;
        }
        Ok(())
    }

    /// Commits a change that [`Self::record`] recorded.
    pub async fn commit_recorded(mut self) -> Result<(), StoreError> {
        self.tx.notify(StoreEvent::Configuration);
        self.tx.commit().await
    }

    fn record_of(&self, event: AuditEvent, credential: Option<&str>, detail: &Value) -> AuditRecord {
        let mut record = AuditRecord::new(self.by.now(), event);
        record.workspace_id = Some(self.actor.workspace);
        record.actor.clone_from(&self.actor.id);
        record.actor_name.clone_from(&self.actor.name);
        record.credential = credential.map(str::to_owned);
        record.detail = detail.to_string();
        record
    }

    /// Records a change that concerns a stored credential and commits. Neither `credential` nor `detail` may contain a
    /// secret.
    pub async fn commit_about(
        mut self,
        event: AuditEvent,
        credential: Option<&str>,
        detail: Value,
    ) -> Result<(), StoreError> {
        let record = self.record_of(event, credential, &detail);
        append_in(&mut self.tx, &self.by.keys, &[record]).await?;
        self.tx.notify(StoreEvent::Configuration);
        self.tx.commit().await
    }
}
