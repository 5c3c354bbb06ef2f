//! Verification (`docs/reference/behavior/verification.md`) for its clients, issuers and managers.

mod attestations;
mod batches;
mod checks;
mod checks_end_to_end;
mod clocks;
mod commands;
mod contract_wallets;
mod contracts;
mod out_of_gas;
mod installation;
mod lagging_nodes;
mod nodes;
mod statement_order;
mod registry;
mod sandbox;
mod strategies;
