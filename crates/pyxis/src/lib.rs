//! Wires the crates into one program: settings, command line, serving.

pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
mod front;
pub mod health;
pub mod nodes;
pub mod openapi;
pub mod scheduled_backups;
pub mod serve;
pub mod signed_head;
pub mod telemetry;
pub mod traces;
