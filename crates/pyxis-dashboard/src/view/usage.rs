//! Usage: requests over time.

use askama::Template;

use super::{Layout, Search, in_section};
use crate::chart::StackedBars;
use crate::chart::spark::Spark;

/// `GET /app/usage?range=24h|7d|30d`.
#[derive(Clone, Debug, Template)]
#[template(path = "usage.html")]
pub struct UsagePage {
    pub shell: Layout,
    /// The selectable spans.
    pub ranges: Vec<RangeLink>,
    /// The selected span: `24 hours`.
    pub span: String,
    /// The search field of the whole page.
    pub search: Search,
    /// Agents, and API keys if this server scores.
    pub parts: Vec<UsagePart>,
}

/// A selectable span.
#[derive(Clone, Debug)]
pub struct RangeLink {
    /// `24 hours`.
    pub label: String,
    /// Link to it, which keeps search and orders.
    pub href: String,
    /// True if it is selected.
    pub here: bool,
}

/// One kind of caller.
#[derive(Clone, Debug)]
pub struct UsagePart {
    /// Singular noun: `Agent`.
    pub noun: &'static str,
    /// Their icon in the sprite.
    pub icon: &'static str,
    /// Explanation of the columns admitted and refused.
    pub meaning: &'static str,
    /// For the empty state: a `curl` that is counted here.
    pub command: String,
    /// Requests of all that were found.
    pub requests: String,
    /// Admitted requests of all that were found.
    pub admitted: String,
    /// Refused requests of all that were found.
    pub refused: String,
    /// Requests of all that were found, over time.
    pub chart: StackedBars,
    /// The search field, orders, pages and file.
    pub search: Search,
    /// One page of agents or keys.
    pub lines: Vec<UsageLine>,
}

/// One agent or key.
#[derive(Clone, Debug)]
pub struct UsageLine {
    pub name: String,
    /// Its page, if it still has one.
    pub page: Option<String>,
    /// `Removed`, `Disabled`, `Revoked`.
    pub gone: Option<&'static str>,
    /// Number of requests.
    pub requests: String,
    /// Number of admitted requests.
    pub admitted: String,
    /// Number of refused requests.
    pub refused: String,
    /// The same over time.
    pub spark: Spark,
}

in_section!(UsagePage => Usage);
