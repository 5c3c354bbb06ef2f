//! Endpoints of agents: `/forward`, `/p/…`, `/sign`, and what an agent can learn.

pub(crate) mod agent_api;
pub(crate) mod forward;
pub(crate) mod outcome;
pub(crate) mod sign;
