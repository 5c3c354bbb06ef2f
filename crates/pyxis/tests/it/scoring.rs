//! Scoring from its managers' point of view.

mod admin;
mod changes;
mod commands;
mod earlier;
mod front;
mod indexers;
mod limits;
mod minute;
mod models;
mod own_models;
mod quickstart;
mod stage;
mod training;
