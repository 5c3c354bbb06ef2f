//! The command line.

mod bootstrap;
mod commands;
mod connect;
mod dotenv;
mod first_start;
mod healthcheck;
mod keys;
mod mistakes;
mod preloaded;
mod readiness;
mod server;
mod traces;
