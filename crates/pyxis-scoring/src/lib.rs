//! Scoring (Spec 1): credentials in, scores out.
//!
//! [`credential`] believes or refuses what an issuer signed, [`engine`] keeps Stamps, claims and scores
//! in step, `routes` answers, [`service`] is what managers do.

pub mod activity;
pub mod address;
mod api;
mod auth;
mod books;
mod budget;
pub mod credential;
pub mod engine;
mod error;
pub mod icon;
pub mod import;
mod limits;
pub mod models;
mod routes;
pub mod service;
mod state;
mod token;

pub use books::Books;
pub use error::{BoxError, Error, Result};
pub use limits::{Ledger, give_back_rest, limit_of_models, limit_of_stamps};
pub use routes::{PlainScore, SCORE, router};
pub use state::{Config, Parts, State};
