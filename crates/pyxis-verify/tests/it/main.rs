//! Properties of the registry as a whole, on a real database.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod replay;
