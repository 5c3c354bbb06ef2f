//! Last-use times, collected in memory and written occasionally, so that a request does not cost a write.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId};
use pyxis_store::{Store, StoreError, agents, credentials};

/// Uses since the last write.
#[derive(Default)]
pub(crate) struct LastUsedBuffer(Mutex<PendingUses>);

#[derive(Default)]
struct PendingUses {
    agents: HashMap<AgentId, UnixMillis>,
    credentials: HashMap<CredentialId, UnixMillis>,
}

impl LastUsedBuffer {
    pub(crate) fn record_use(&self, agent: AgentId, credential: CredentialId, now: UnixMillis) {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.agents.insert(agent, now);
        used.credentials.insert(credential, now);
    }

    /// Records a message of an agent that uses no credential.
    pub(crate) fn note_agent(&self, agent: AgentId, now: UnixMillis) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).agents.insert(agent, now);
    }

    /// The latest recorded message of an agent that is not written yet.
    pub(crate) fn of_agent(&self, agent: AgentId) -> Option<UnixMillis> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).agents.get(&agent).copied()
    }

    /// Writes the recorded uses.
    pub(crate) async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let used = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !used.agents.is_empty() {
            agents::touch_used(store, &used.agents.into_iter().collect::<Vec<_>>()).await?;
        }
        if !used.credentials.is_empty() {
            credentials::touch_used(store, &used.credentials.into_iter().collect::<Vec<_>>()).await?;
        }
        Ok(())
    }
}
