//! Limits of sessions: per agent and per node. A client beyond one is served without a session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyxis_core::id::AgentId;

/// Sessions of one agent.
const PER_AGENT: usize = 32;
/// Sessions of one node.
const PER_NODE: usize = 1000;

/// The limits, and the number of open sessions of each agent.
pub(crate) struct SessionLimits {
    per_agent: usize,
    per_node: usize,
    open: Mutex<HashMap<AgentId, usize>>,
}

/// Permission for one session. It counts until it is dropped.
pub(crate) struct SessionSlot {
    limits: Arc<SessionLimits>,
    agent: AgentId,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self::new(PER_AGENT, PER_NODE)
    }
}

impl SessionLimits {
    fn new(per_agent: usize, per_node: usize) -> Self {
        Self { per_agent, per_node, open: Mutex::default() }
    }

    /// Permits a session of `agent`. `None` at a limit.
    pub(crate) fn reserve(self: &Arc<Self>, agent: AgentId) -> Option<SessionSlot> {
        let mut open = self.open();
        let of_node: usize = open.values().sum();
        let of_agent = open.get(&agent).copied().unwrap_or_default();
        if of_node >= self.per_node || of_agent >= self.per_agent {
            return None;
        }
        open.insert(agent, of_agent + 1);
        Some(SessionSlot { limits: Arc::clone(self), agent })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<AgentId, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionSlot {
    /// Agent that may have the session.
    pub(crate) fn agent(&self) -> AgentId {
        self.agent
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let mut open = self.limits.open();
        let rest = open.get(&self.agent).map_or(0, |count| count.saturating_sub(1));
        if rest == 0 {
            open.remove(&self.agent);
        } else {
            open.insert(self.agent, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    fn agents() -> [AgentId; 3] {
        let entropy = SeededEntropy::new(1);
        std::array::from_fn(|_| AgentId::new(UnixMillis(0), &entropy))
    }

    #[test]
    fn an_agent_has_no_more_sessions_than_its_limit_and_leaves_room_for_others() {
        let limits = Arc::new(SessionLimits::new(2, 10));
        let [first, second, _] = agents();
        let slots = [limits.reserve(first), limits.reserve(first)];
        assert!(slots.iter().all(Option::is_some));
        assert!(limits.reserve(first).is_none());
        assert!(limits.reserve(second).is_some());
        drop(slots);
        assert!(limits.reserve(first).is_some());
        assert!(limits.open().is_empty(), "nothing is kept of an agent without sessions");
    }

    #[test]
    fn a_node_has_no_more_sessions_than_its_limit() {
        let limits = Arc::new(SessionLimits::new(2, 2));
        let [first, second, third] = agents();
        let slots = [limits.reserve(first), limits.reserve(second)];
        assert!(slots.iter().all(Option::is_some));
        assert!(limits.reserve(third).is_none());
        drop(slots);
        assert!(limits.reserve(third).is_some());
    }
}
