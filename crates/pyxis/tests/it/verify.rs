//! Verification (`docs/reference/behavior/verification.md`) for its clients, issuers and managers.

mod attestations;
mod batches;
mod checks;
mod checks_end_to_end;
mod clocks;
mod commands;
mod contract_wallets;
mod contracts;
mod gas;
mod installation;
mod lagging;
mod nodes;
mod order;
mod registry;
mod sandbox;
mod strategies;
