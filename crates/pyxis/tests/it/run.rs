//! `pyxis run` and `pyxis proxy`: unchanged tools behind a proxy of their own (`docs/reference/run.md`).

mod agent;
mod approvals;
mod plain_http;
mod process;
mod refusals;
mod scene;
mod sidecar;
mod streaming;
mod tools;
mod websocket;

use scene::Scene;
