//! The signing sidecar, as a process, in front of an upstream that verifies signatures.

pub(crate) mod process;
mod proxied;
mod requests;
mod responses;
pub(crate) mod signed_bytes;
mod start;
pub(crate) mod verifier;
