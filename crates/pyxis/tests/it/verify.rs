//! Verification (`docs/reference/behavior/verification.md`) for its clients, issuers and managers.

mod attestations;
mod batches;
mod checks;
mod checks_end_to_end;
mod clocks;
mod commands;
mod contract_wallets;
mod contracts;
mod installation;
mod lagging_nodes;
mod nodes;
mod out_of_gas;
mod registry;
mod sandbox;
mod statement_order;
mod strategies;
mod strategy_page;
