//! Tests of the whole program, one module for each area.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod layering;
mod openapi;
mod postgres;
mod races;
