//! Approvals: from the pause to the one upstream call.
//!
//! Everything durable is in the store and every change of state is one conditional update there;
//! these modules hold no state of their own, so any node may do any step, and a restart loses nothing.

pub mod agent_response;
pub mod approver;
pub mod ceremony;
pub mod coverage;
pub mod decide;
pub(crate) mod execute;
pub(crate) mod expire;
mod failure;
pub(crate) mod pause;
pub mod view;
pub mod viewer_status;
