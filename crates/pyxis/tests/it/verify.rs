//! Verification (Spec 2) as those who ask, issue and manage use it.

mod checks;
mod commands;
mod registry;
mod stage;
mod strategies;
