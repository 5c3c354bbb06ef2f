//! The command line.

mod bootstrap;
mod commands;
mod dotenv;
mod keys;
mod server;
mod traces;
