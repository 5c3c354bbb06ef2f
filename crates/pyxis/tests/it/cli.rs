//! The command line.

mod bootstrap;
mod commands;
mod connect;
mod dotenv;
mod first_start;
mod healthcheck;
mod keys;
mod preloaded;
mod readiness;
mod server;
mod traces;
