//! Verification (Spec 2) for its clients, issuers and managers.

mod attestations;
mod batches;
mod checks;
mod clocks;
mod commands;
mod contracts;
mod door;
mod gas;
mod lagging;
mod nodes;
mod order;
mod registry;
mod stage;
mod strategies;
