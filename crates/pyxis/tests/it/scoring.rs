//! Scoring as its managers use it.

mod admin;
mod changes;
mod commands;
mod models;
mod quickstart;
mod stage;
