//! Scoring (`docs/reference/behavior/scoring.md`): credentials in, scores out.
//!
//! [`credential`] accepts or refuses what an issuer signed. [`engine`] keeps Stamps, claims and scores consistent.
//! `routes` answers requests, and [`service`] implements the managers' operations.

pub mod activity;
pub mod address;
mod api;
mod auth;
mod budget;
pub mod credential;
pub mod engine;
mod error;
pub mod icon;
pub mod import;
mod limits;
pub mod merkle;
pub mod models;
mod page_token;
mod routes;
mod score_metrics;
mod scoring_db;
pub mod service;
pub mod signed;
mod state;
mod terms_in_force;
mod values;

pub use error::{BoxError, Error, Result};
pub use limits::{limit_of_models, limit_of_stamps};
pub use routes::openapi;
pub use routes::{FastPathScore, SCORE, router};
pub use scoring_db::ScoringDb;
pub use state::{Config, Parts, State};
