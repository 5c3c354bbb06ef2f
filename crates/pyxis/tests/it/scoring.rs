//! Scoring as its managers use it.

mod admin;
mod commands;
mod quickstart;
mod stage;
