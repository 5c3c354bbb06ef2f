//! The command line.

mod backups;
mod bootstrap;
mod commands;
mod connect;
mod dotenv;
mod first_start;
mod healthcheck;
mod keys;
mod lost_database;
mod manual;
mod mistyped_commands;
mod nouns;
mod preloaded_libraries;
mod readiness;
mod scheduled_backups;
mod server;
mod traces;
