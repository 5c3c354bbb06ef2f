//! The command line.

mod backups;
mod bootstrap;
mod commands;
mod configuration;
mod confirmations;
mod connect;
mod decisions;
mod dotenv;
mod failures;
mod first_start;
mod healthcheck;
mod in_flight;
mod keys;
mod links;
mod lost_database;
mod manual;
mod mistyped_commands;
mod nouns;
mod policies;
mod preloaded_libraries;
mod readiness;
mod scheduled_backups;
mod server;
mod status;
mod traces;
