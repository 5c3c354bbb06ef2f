//! `pyxis run` and `pyxis proxy`: unchanged tools behind a proxy of their own (`docs/reference/run.md`).

mod agent;
mod approvals;
mod process;
mod refusals;
mod scene;
mod sidecar;
mod tools;
mod websocket;

use scene::Scene;
