//! The signing sidecar, as a process, in front of an upstream that verifies signatures.

mod responses;
pub(crate) mod process;
mod proxied;
mod requests;
mod start;
pub(crate) mod verifier;
pub(crate) mod signed_bytes;
