//! Properties of the registry as a whole, on a real database, and what depends on the clock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod index;
mod replay;
