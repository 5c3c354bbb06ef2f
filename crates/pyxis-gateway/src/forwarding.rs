//! Agent endpoints: `/forward`, `/p/…`, `/sign`, and information for agents.

pub(crate) mod agent_api;
pub mod agent_tools;
pub(crate) mod endpoints;
pub mod entry_points;
pub(crate) mod forward;
pub mod long_responses;
pub(crate) mod sign;
