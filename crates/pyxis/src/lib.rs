//! Wires the crates into one program: settings, command line, serving.

pub mod app;
mod audit_push;
pub mod cli;
pub mod commands;
pub mod config;
mod contract_wallets;
mod fast_path;
pub mod health;
mod import_progress;
mod log_sampling;
pub mod nodes;
pub mod open_files;
pub mod openapi;
pub mod running;
pub mod scheduled_backups;
mod scrape;
pub mod serve;
mod service_manager;
pub mod signed_head;
pub mod stop_signals;
pub mod telemetry;
pub mod traces;
mod vote_scores;
