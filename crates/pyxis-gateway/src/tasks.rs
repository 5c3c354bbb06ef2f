//! Tasks: an agent proposes a list of actions, and a person approves it once, whole or in part
//! (`docs/reference/behavior/proxy.md#tasks`).

pub mod agent_api;
pub mod decide;
mod propose;
mod response;
pub mod view;

pub(crate) use response::{TaskResponse, TaskStateName};
