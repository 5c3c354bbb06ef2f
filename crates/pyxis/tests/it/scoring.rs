//! Scoring as its managers use it.

mod admin;
mod commands;
mod models;
mod own_models;
mod quickstart;
mod stage;
