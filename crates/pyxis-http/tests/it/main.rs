//! HTTP server tests over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod serve;
