//! Verification (Spec 2) as those who ask, issue and manage use it.

mod attestations;
mod checks;
mod commands;
mod contracts;
mod registry;
mod stage;
mod strategies;
