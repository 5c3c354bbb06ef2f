//! Outbound requests: which ones leave the machine.
//!
//! Credential isolation, `allowed_hosts` and the egress guard apply in every mode
//! (`docs/reference/behavior/proxy.md#egress-guard`).
#![expect(clippy::unwrap_used, reason = "in a test the panic is the report")]

mod body;
mod client;
mod guard;
mod heads;
mod netns;
mod once;
mod rebind;
mod support;
mod timeouts;
mod tls;
mod unreadable;
