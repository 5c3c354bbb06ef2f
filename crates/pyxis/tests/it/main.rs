//! Tests of the whole program, one module for each area.
//!
//! `cli`, `gateway`, `scoring`, `signer` and `verify` are black-box tests: they start the built program as people do
//! and talk to it over sockets. They follow the rules in `docs/reference`, not the code. `PX_TEST_POSTGRES` (a
//! URL of a server on which databases may be created) adds PostgreSQL to the tests that run on both engines.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod audit_truncation;
mod chat_platforms;
mod cli;
mod clock;
mod config_races;
mod crash;
mod delivery;
mod documents;
mod failover;
mod fuzzed;
mod gateway;
mod head_limits;
mod image;
mod imports;
mod language;
mod layering;
mod mcp;
mod observability;
mod openapi;
mod people;
mod races;
mod rebinding;
mod receipts;
mod run;
mod scoring;
mod signer;
mod support;
mod unfinished_attempts;
mod upgrade;
mod verify;
