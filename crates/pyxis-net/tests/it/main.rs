//! Outbound requests: which ones leave the machine.
//!
//! Spec 3: "Credential isolation, the `allowed_hosts` binding and the SSRF guard stay on in every mode";
//! decisions-proxy.md, Egress guard.
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
