//! Properties of the registry as a whole, on a real database, and time-dependent behavior.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod index;
mod replay;
