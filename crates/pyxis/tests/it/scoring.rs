//! Scoring as its managers use it.

mod admin;
mod changes;
mod commands;
mod front;
mod models;
mod quickstart;
mod stage;
