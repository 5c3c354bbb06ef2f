//! HTTP server kit: problem responses, extractors, layers and graceful shutdown.
//!
//! Independent of the rest of Pyxis.

pub mod admin;
pub mod body;
pub mod client_ip;
pub mod cors;
pub mod json;
pub mod openapi;
pub mod path;
pub mod problem;
pub mod query;
pub mod request_id;
pub mod route_metrics;
pub mod serve;
pub mod websocket;

pub use json::{Json, Raw};
pub use path::Path;
pub use problem::Problem;
pub use query::Query;
