//! Scoring from its managers' point of view.

mod admin;
mod changes;
mod commands;
mod fast_path;
mod indexers;
mod installation;
mod legacy_paths;
mod limits;
mod models;
mod own_models;
mod own_stamps;
mod quickstart;
mod request_timeout;
mod rescore_progress;
mod signed;
mod training;
mod widget;
