//! Usage: requests over time.

use askama::Template;

use super::{Layout, Search, in_section};
use crate::chart::StackedBars;
use crate::chart::spark::Spark;

/// `GET /app/usage?range=24h|7d|30d`.
#[derive(Clone, Debug, Template)]
#[template(path = "usage.html")]
pub struct UsagePage {
    /// The frame.
    pub shell: Layout,
    /// The spans to look at.
    pub ranges: Vec<RangeLink>,
    /// The one that is shown: `24 hours`.
    pub span: String,
    /// The search field of all of it.
    pub search: Search,
    /// Agents; and API keys, where this server scores.
    pub parts: Vec<UsagePart>,
}

/// A span to look at.
#[derive(Clone, Debug)]
pub struct RangeLink {
    /// `24 hours`.
    pub label: String,
    /// Link to it, which keeps search and orders.
    pub href: String,
    /// True if it is shown.
    pub here: bool,
}

/// Those who ask in one way.
#[derive(Clone, Debug)]
pub struct UsagePart {
    /// What one of them is called: `Agent`.
    pub noun: &'static str,
    /// Their icon in the sprite.
    pub icon: &'static str,
    /// What is counted as admitted and as refused.
    pub meaning: &'static str,
    /// For the empty state: a `curl` that is counted here.
    pub command: String,
    /// Requests of all that were found.
    pub requests: String,
    /// Those of them that were admitted.
    pub admitted: String,
    /// Those that were refused.
    pub refused: String,
    /// All that were found, over time.
    pub chart: StackedBars,
    /// The search field, orders, pages and file.
    pub search: Search,
    /// One page of them.
    pub lines: Vec<UsageLine>,
}

/// One agent or key.
#[derive(Clone, Debug)]
pub struct UsageLine {
    /// Its name.
    pub name: String,
    /// Its page, if it has one still.
    pub page: Option<String>,
    /// `Removed`, `Disabled`, `Revoked`.
    pub gone: Option<&'static str>,
    /// How many requests.
    pub requests: String,
    /// How many were admitted.
    pub admitted: String,
    /// How many were refused.
    pub refused: String,
    /// The same over time.
    pub spark: Spark,
}

in_section!(UsagePage => Usage);
