//! Sessions that this node knows, each with its agent. No other node knows them, and a restart forgets them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyxis_core::id::AgentId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::sync::Semaphore;

use crate::session_limits::{SessionLimits, SessionSlot};

/// Time without a message after which a session ends.
const IDLE: Duration = Duration::from_mins(10);
/// Number of sessions to remember that their clients ended, the newest.
const ENDED: usize = 1000;

/// Number of streams without a call that a session may have at once.
pub(crate) const STREAMS: usize = 4;

/// An open session, for the messages of its agent.
#[derive(Clone)]
pub(crate) struct SessionHandle {
    /// Permits for streams without a call.
    pub(crate) streams: Arc<Semaphore>,
}

/// State of a session, for a message that names it.
pub(crate) enum SessionState {
    /// Open, and of the agent that sent the message.
    Own(SessionHandle),
    /// Of another agent, or ended by its client.
    Refused,
    /// Not known here: of another node, from before a restart, or ended by idleness.
    Unknown,
}

struct OpenSession {
    slot: SessionSlot,
    handle: SessionHandle,
}

#[derive(Default)]
struct KnownSessions {
    open: HashMap<String, OpenSession>,
    ended: VecDeque<String>,
}

/// The sessions of this node.
pub(crate) struct SessionRegistry {
    /// The SDK's part: streams, stored events and the idle time.
    manager: Arc<LocalSessionManager>,
    limits: Arc<SessionLimits>,
    known: Mutex<KnownSessions>,
}

impl SessionRegistry {
    pub(crate) fn new() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        Self { manager: Arc::new(manager), limits: Arc::default(), known: Mutex::default() }
    }

    /// The SDK's sessions.
    pub(crate) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// The state of session `id`, for a message of `agent`.
    pub(crate) async fn state(&self, id: &str, agent: AgentId) -> SessionState {
        let is_open = self.manager.sessions.read().await.contains_key(id);
        let known = self.known();
        match known.open.get(id).filter(|_| is_open) {
            Some(session) if session.slot.agent() == agent => SessionState::Own(session.handle.clone()),
            Some(_) => SessionState::Refused,
            None if known.ended.iter().any(|ended| ended == id) => SessionState::Refused,
            None => SessionState::Unknown,
        }
    }

    /// Permits one more session. `None` at a limit.
    pub(crate) async fn reserve(&self, agent: AgentId) -> Option<SessionSlot> {
        self.forget_idle().await;
        self.limits.reserve(agent)
    }

    /// Adds a session that has begun.
    pub(crate) fn insert(&self, id: String, slot: SessionSlot) {
        let handle = SessionHandle { streams: Arc::new(Semaphore::new(STREAMS)) };
        self.known().open.insert(id, OpenSession { slot, handle });
    }

    /// Removes a session that its client has ended.
    pub(crate) fn end(&self, id: String) {
        let mut known = self.known();
        known.open.remove(&id);
        known.ended.push_back(id);
        if known.ended.len() > ENDED {
            known.ended.pop_front();
        }
    }

    /// Removes sessions that idleness has ended.
    async fn forget_idle(&self) {
        let open = self.manager.sessions.read().await;
        self.known().open.retain(|id, _| open.contains_key(id.as_str()));
    }

    fn known(&self) -> MutexGuard<'_, KnownSessions> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
