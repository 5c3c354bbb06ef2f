//! Approvals: pause, announcement, decision and the single upstream call; tasks and receipts.
//!
//! All durable state is in the store, where each transition is one conditional update. These modules keep no state, so
//! any node may do any step, and a restart loses nothing.

pub mod agent_response;
pub(crate) mod announce;
pub mod announcement_record;
pub mod approver;
pub mod batch;
mod batch_assertion;
pub mod batch_ceremony;
pub mod ceremony;
pub mod coverage;
pub(crate) mod dead_nodes;
pub mod decide;
pub mod delivery;
pub(crate) mod difference;
pub mod edit;
pub mod edit_record;
pub(crate) mod execute;
pub(crate) mod expire;
mod failure;
pub mod inbox;
pub(crate) mod pause;
pub(crate) mod reason;
pub mod receipts;
pub mod stored_response;
pub mod tasks;
pub mod view;
pub mod viewer_status;
pub(crate) mod wait_for_decision;
