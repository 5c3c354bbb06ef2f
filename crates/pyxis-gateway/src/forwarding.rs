//! Agent endpoints: `/forward`, `/p/…`, `/sign`, and information for agents.

pub(crate) mod agent_api;
pub(crate) mod endpoints;
pub mod entry_points;
pub(crate) mod forward;
pub(crate) mod outcome;
pub(crate) mod sign;
