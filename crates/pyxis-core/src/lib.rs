//! Decisions without I/O.
//!
//! Everything here is a value or a pure function: identifiers, time, randomness and secrets as types, and
//! canonical targets. So are patterns, policies, grants and tasks; the approval state machine. Nothing here reads a
//! clock, an environment variable or a socket, so every rule can be tested by calling it.

pub mod actor;
pub mod address;
pub mod admin_error;
pub mod agent_client;
pub mod approval;
pub mod approval_mode;
pub mod audit_decision;
pub mod audit_event;
pub mod auth;
pub mod brand;
pub mod catalogue;
pub mod chat;
pub mod clock;
pub mod csv;
pub mod decimal;
pub mod digest;
pub mod dotenv;
pub mod eligibility;
pub mod entries;
pub mod entropy;
pub mod field;
pub mod grant;
pub mod headers;
pub mod hex;
pub mod hosts;
pub mod id;
pub mod mcp_tool;
pub mod merkle_log;
pub mod metric;
pub mod nearest;
pub mod pattern;
pub mod policy;
pub mod presets;
pub mod preview;
pub mod proof;
pub mod quiet_hours;
pub mod redirect_uri;
pub mod score;
pub mod secret;
pub mod stamp;
pub mod sui;
pub mod target;
pub mod task;
pub mod webhook;
pub mod window;

/// Source of an internal error, whatever its type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
