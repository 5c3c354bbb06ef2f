//! `pyxis run`: unchanged tools behind the proxy of one run (`docs/reference/run.md`).

mod approvals;
mod process;
mod refusals;
mod scene;
mod tools;
mod websocket;

use scene::Scene;
