//! Last-use times, collected in memory and written occasionally, so that a request does not cost a write.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AgentId, CredentialId};
use pyxis_store::{Store, StoreError, agents as stored_agents, credentials as stored_credentials};
use tokio::sync::Notify;

/// Uses since the last write.
#[derive(Default)]
pub(crate) struct LastUsedBuffer {
    pending: Mutex<PendingUses>,
    first_use: Notify,
}

#[derive(Default)]
struct PendingUses {
    agents: HashMap<AgentId, UnixMillis>,
    credentials: HashMap<CredentialId, UnixMillis>,
    /// Agents that this process has seen.
    seen: HashSet<AgentId>,
}

impl LastUsedBuffer {
    pub(crate) fn record_use(&self, agent: AgentId, credential: CredentialId, now: UnixMillis) {
        self.note_agent(agent, now);
        self.lock().credentials.insert(credential, now);
    }

    /// Records a message of an agent that uses no credential.
    pub(crate) fn note_agent(&self, agent: AgentId, now: UnixMillis) {
        let mut used = self.lock();
        used.agents.insert(agent, now);
        let is_first = used.seen.insert(agent);
        drop(used);
        if is_first {
            self.first_use.notify_one();
        }
    }

    /// Waits until an agent that this process had not seen was noted. Its use is written at once, because
    /// `pyxis bootstrap --reissue` replaces keys that were never used.
    pub(crate) async fn wait_for_first_use(&self) {
        self.first_use.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, PendingUses> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest recorded message of an agent that is not written yet.
    pub(crate) fn of_agent(&self, agent: AgentId) -> Option<UnixMillis> {
        self.lock().agents.get(&agent).copied()
    }

    /// Writes the recorded uses. If that fails, they are recorded again, unless newer ones came meanwhile.
    pub(crate) async fn write(&self, store: &Store) -> Result<(), StoreError> {
        let agents: Vec<_> = std::mem::take(&mut self.lock().agents).into_iter().collect();
        if !agents.is_empty()
            && let Err(error) = stored_agents::touch_used(store, &agents).await
        {
            put_back(&mut self.lock().agents, agents);
            return Err(error);
        }
        let credentials: Vec<_> = std::mem::take(&mut self.lock().credentials).into_iter().collect();
        if !credentials.is_empty()
            && let Err(error) = stored_credentials::touch_used(store, &credentials).await
        {
            put_back(&mut self.lock().credentials, credentials);
            return Err(error);
        }
        Ok(())
    }
}

fn put_back<I: Eq + Hash>(uses: &mut HashMap<I, UnixMillis>, unwritten: Vec<(I, UnixMillis)>) {
    for (id, at) in unwritten {
        uses.entry(id).or_insert(at);
    }
}
