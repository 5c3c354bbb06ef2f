//! Outbound requests: which ones leave the machine.
//!
//! Credential isolation, `allowed_hosts` and the egress guard apply in every mode
//! (`docs/reference/behavior/proxy.md#egress-guard`).
#![expect(clippy::unwrap_used, reason = "in a test the panic is the report")]

mod body;
mod client;
mod guard;
mod response_head_limits;
mod netns;
mod at_most_once;
mod dns_rebinding;
mod support;
mod timeouts;
mod tls;
mod malformed_responses;
