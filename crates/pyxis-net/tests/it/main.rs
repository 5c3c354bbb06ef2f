//! Outbound requests: which ones leave the machine.
//!
//! Credential isolation, `allowed_hosts` and the egress guard apply in every mode
//! (`docs/reference/behavior/proxy.md#egress-guard`).
#![expect(clippy::unwrap_used, reason = "in a test the panic is the report")]

mod at_most_once;
mod body;
mod client;
mod dns_rebinding;
mod guard;
mod malformed_responses;
mod netns;
mod response_head_limits;
mod support;
mod timeouts;
mod tls;
