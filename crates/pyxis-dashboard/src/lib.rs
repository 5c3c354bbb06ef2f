//! The pages a person sees: inbox, approval, agents, credentials, policies, audit, settings.
//!
//! The presentation half: [`view`] holds one struct for each page, made of owned strings and ready
//! to render (`askama::Template`); [`assets`] the files they load; [`chart`] and [`text`] what turns
//! numbers and strangers' text into something a person can judge.

pub mod assets;
pub mod chart;
pub mod text;
pub mod view;
