//! Verification (Spec 2) for its clients, issuers and managers.

mod attestations;
mod checks;
mod clocks;
mod commands;
mod contracts;
mod door;
mod nodes;
mod order;
mod registry;
mod stage;
mod strategies;
