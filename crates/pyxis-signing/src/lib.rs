//! Signatures over requests and payloads, without I/O.
//!
//! Time, nonces and keys are arguments, so every published example can be a test. The sidecar and the gateway sign with
//! the same functions.
#![warn(missing_docs)]

pub mod eip712;
pub mod hmac_request;
pub mod jwt;
pub mod keys;
pub mod oauth1;
pub mod payload;
mod percent;
pub mod receipt;
pub mod recovery;
pub mod sigv4;
