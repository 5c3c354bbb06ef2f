//! Scoring from its managers' point of view.

mod admin;
mod changes;
mod commands;
mod erase;
mod fast_path;
mod indexers;
pub(crate) mod installation;
mod jobs;
mod legacy_paths;
mod limits;
mod models;
mod own_models;
mod own_stamps;
mod population;
mod quickstart;
mod request_timeout;
mod rescore_progress;
mod reviews;
mod scheduled;
mod signed;
mod training;
mod widget;
