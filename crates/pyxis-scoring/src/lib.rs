//! Scoring (`docs/reference/behavior/scoring.md`): credentials in, scores out.
//!
//! [`credential`] accepts or refuses what an issuer signed. [`engine`] keeps Stamps, claims and scores consistent.
//! `routes` answers requests, and [`service`] implements the managers' operations.

pub mod activity;
pub mod address;
mod api;
mod auth;
mod batch_scores;
mod budget;
mod conflicts;
pub mod contract_wallets;
pub mod credential;
mod dated_record;
pub mod engine;
mod error;
pub mod icon;
pub mod import;
pub mod jobs;
mod limits;
pub mod merkle;
pub mod models;
mod networks;
mod own;
pub mod page_keys;
mod page_token;
mod record;
mod routes;
mod scheduled_terms;
mod score_metrics;
mod scoring_db;
pub mod service;
pub mod signed;
mod state;
mod tabular;
mod terms_in_force;
mod values;
pub mod votes;
pub mod widget;
mod widget_error;

pub use error::{BoxError, Error, Result};
pub use limits::{limit_of_models, limit_of_stamps};
pub use networks::{EvmNetwork, EvmNetworks};
pub use own::{CheckScope, RecheckCount, recheck as recheck_stamps, run as run_stamp_checks};
pub use routes::openapi;
pub use routes::{FastPathScore, SCORE, router};
pub use scoring_db::ScoringDb;
pub use state::{Config, JobConfig, ScoringDependencies, State};
pub use tabular::TableFormat;
