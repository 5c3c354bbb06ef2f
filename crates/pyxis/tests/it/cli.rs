//! The command line.

mod bootstrap;
mod commands;
mod dotenv;
mod keys;
mod readiness;
mod server;
mod traces;
