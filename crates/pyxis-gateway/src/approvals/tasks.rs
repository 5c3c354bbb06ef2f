//! Tasks: an agent proposes a list of actions, and a person approves it once, whole or in part
//! (`docs/reference/behavior/proxy.md#tasks`).

pub mod agent_api;
pub mod ceremony;
pub mod decide;
mod ends;
pub(crate) mod expire;
mod propose;
mod response;
mod trimmed;
pub mod view;
mod withdraw;

pub(crate) use ends::TaskEnds;
pub(crate) use response::{TaskResponse, TaskStateName};
pub(crate) use withdraw::withdraw_proposals;
