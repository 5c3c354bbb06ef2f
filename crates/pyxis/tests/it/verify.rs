//! Verification (Spec 2) as those who ask, issue and manage use it.

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
