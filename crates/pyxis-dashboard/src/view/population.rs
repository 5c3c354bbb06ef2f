//! The population of a scorer.

use askama::Template;

use super::{Layout, in_section};

/// `GET /app/scorers/{id}/population?at=…`.
#[derive(Clone, Debug, Template)]
#[template(path = "population.html")]
pub struct PopulationPage {
    pub shell: Layout,
    /// Number of the scorer.
    pub id: String,
    pub name: String,
    /// Chosen day, `2026-01-31`; `None` for now.
    pub at: Option<String>,
    /// Latest day that can be chosen.
    pub latest: String,
    /// The chosen day as the rest of a query.
    pub query: String,
    /// Scored addresses: `1,204`.
    pub addresses: String,
    /// Those that pass.
    pub passing: String,
    /// Those that pass, of a hundred: `42 %`.
    pub share: String,
    /// Scores that will be computed again, if there are any.
    pub outdated: Option<String>,
    /// The most frequent first.
    pub stamps: Vec<PopulationStamp>,
    /// Newest first.
    pub days: Vec<PopulationDay>,
}

/// One Stamp.
#[derive(Clone, Debug)]
pub struct PopulationStamp {
    pub name: String,
    pub addresses: String,
    /// Share of all addresses.
    pub share: String,
    /// Those of them that pass.
    pub passing: String,
    /// Those of them for which it does not count.
    pub deduplicated: String,
}

/// One day.
#[derive(Clone, Debug)]
pub struct PopulationDay {
    /// `2026-01-31`.
    pub day: String,
    /// Addresses answered until its end.
    pub addresses: String,
    /// Those of them that passed.
    pub passing: String,
    pub share: String,
    /// The share as a whole number.
    pub bar: u64,
}

in_section!(PopulationPage => Scorers);
