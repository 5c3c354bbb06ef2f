//! Scoring (Spec 1): credentials in, scores out.

pub mod credential;
