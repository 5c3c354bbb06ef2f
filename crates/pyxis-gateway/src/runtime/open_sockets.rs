//! Places for open WebSockets, shared fairly among agents, and the signal that ends them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::counter;
use pyxis_core::id::AgentId;
use pyxis_core::metric;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// WebSockets of this process.
pub(crate) struct OpenSockets {
    places: Arc<Semaphore>,
    max: u32,
    /// Places taken by each agent that has any.
    taken: Arc<Mutex<HashMap<AgentId, u32>>>,
    agent_max: u32,
    stopping: watch::Sender<bool>,
}

/// Place of one WebSocket, from its handshake to its end. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct SocketPlace {
    taken: Arc<Mutex<HashMap<AgentId, u32>>>,
    agent: AgentId,
    /// Freed after the agent's own count, so that none is left when all places are free.
    _permit: OwnedSemaphorePermit,
}

/// Limit that leaves no place for one more WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPlace {
    /// The agent has its share of this many.
    Agent(u32),
    /// The server has this many.
    Server(u32),
}

impl OpenSockets {
    /// Room for `max` WebSockets, at most `agent_max` of them for one agent.
    pub(crate) fn new(max: usize, agent_max: u32) -> Self {
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let (places, taken) = (Arc::new(Semaphore::new(max as usize)), Arc::default());
        Self { places, max, taken, agent_max, stopping: watch::Sender::new(false) }
    }

    /// A place for `agent`, if its share and the server have one left.
    pub(crate) fn reserve(&self, agent: AgentId) -> Result<SocketPlace, NoPlace> {
        let place = self.acquire(agent);
        if let Err(full) = place {
            let limit = match full {
                NoPlace::Agent(_) => "agent",
                NoPlace::Server(_) => "server",
            };
            counter!(metric::WEBSOCKETS_REFUSED.name, "limit" => limit).increment(1);
        }
        place
    }

    fn acquire(&self, agent: AgentId) -> Result<SocketPlace, NoPlace> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_agent = taken.get(&agent).copied().unwrap_or_default();
        if of_agent >= self.agent_max {
            return Err(NoPlace::Agent(self.agent_max));
        }
        let permit =
            Arc::clone(&self.places).try_acquire_owned().map_err(|_full| NoPlace::Server(self.max))?;
        taken.insert(agent, of_agent + 1);
        Ok(SocketPlace { taken: Arc::clone(&self.taken), agent, _permit: permit })
    }

    /// Number of places taken.
    pub(crate) fn open(&self) -> u32 {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.values().sum()
    }

    /// Waits until every WebSocket must end.
    pub(crate) async fn stopping(&self) {
        drop(self.stopping.subscribe().wait_for(|stopping| *stopping).await);
    }

    /// Ends every WebSocket, and waits until the last one has ended. A new one ends at once.
    pub(crate) async fn stop(&self) {
        self.stopping.send_replace(true);
        // All places are free when the last one has ended.
        drop(self.places.acquire_many(self.max).await);
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_agent) = taken.get_mut(&self.agent) {
            *of_agent -= 1;
            if *of_agent == 0 {
                taken.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    #[test]
    fn an_agent_gets_its_share_and_leaves_the_rest_to_others() {
        let sockets = OpenSockets::new(3, 2);
        let entropy = SeededEntropy::new(1);
        let [one, two] = [0, 1].map(|at| AgentId::new(UnixMillis(at), &entropy));
        let held = [sockets.reserve(one).unwrap(), sockets.reserve(one).unwrap()];
        assert_eq!(sockets.reserve(one).unwrap_err(), NoPlace::Agent(2));
        let other = sockets.reserve(two).unwrap();
        assert_eq!(sockets.reserve(two).unwrap_err(), NoPlace::Server(3));
        assert_eq!(sockets.open(), 3);
        drop(other);
        assert_eq!(
            sockets.reserve(one).unwrap_err(),
            NoPlace::Agent(2),
            "a free place of the server is not its own"
        );
        drop(held);
        assert_eq!(
            (sockets.open(), sockets.taken.lock().unwrap().len()),
            (0, 0),
            "nothing is kept of an agent"
        );
        drop(sockets.reserve(one).unwrap());
    }
}
