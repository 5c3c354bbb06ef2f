//! The command line.

mod bootstrap;
mod commands;
mod keys;
mod server;
mod traces;
