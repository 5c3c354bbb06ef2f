//! The home page.

use askama::Template;

use super::{Layout, Timestamp, in_section};

/// `GET /app`. Posts to `/app/setup/skip`: `step`.
#[derive(Clone, Debug, Template)]
#[template(path = "home.html")]
pub struct HomePage {
    pub shell: Layout,
    /// The setup list; `None` if no step is left.
    pub setup: Option<SetupList>,
    /// The parts that requests need.
    pub health: Vec<HealthPart>,
    /// The pending request that has waited longest.
    pub oldest: Option<OldestRequest>,
    /// Requests of the last 24 hours, for managers.
    pub day: Option<DayTable>,
    /// Requests of API keys in the last 24 hours, for managers of scoring.
    pub scores: Option<ScoreUse>,
    /// Items that need attention.
    pub attention: Vec<AttentionItem>,
}

impl HomePage {
    /// True if requests can be served.
    pub fn is_ready(&self) -> bool {
        self.health.iter().all(|part| part.works)
    }
}

/// One part that requests need.
#[derive(Clone, Copy, Debug)]
pub struct HealthPart {
    /// `Audit trail`.
    pub name: &'static str,
    pub works: bool,
}

/// Setup steps that are left.
#[derive(Clone, Debug)]
pub struct SetupList {
    /// Number of steps that are done.
    pub done: usize,
    /// Number of steps of the person's role.
    pub total: usize,
    pub steps: Vec<SetupStep>,
}

/// One setup step.
#[derive(Clone, Debug)]
pub struct SetupStep {
    /// `credential`, as the form that skips it sends it.
    pub name: &'static str,
    /// `Store a credential`.
    pub title: &'static str,
    /// Purpose in one sentence.
    pub purpose: &'static str,
    /// Page where it is done.
    pub href: String,
}

/// The pending request that has waited longest.
#[derive(Clone, Debug)]
pub struct OldestRequest {
    pub txn_id: String,
    /// `billing-bot: POST api.example.com`.
    pub title: String,
    pub created: Timestamp,
}

/// Requests by decision.
#[derive(Clone, Debug)]
pub struct DayTable {
    pub lines: Vec<DayLine>,
    /// True if there was no request.
    pub empty: bool,
    /// Number of newest records that were counted, if there were more.
    pub capped: Option<String>,
}

/// Requests with one decision.
#[derive(Clone, Debug)]
pub struct DayLine {
    pub label: &'static str,
    pub count: String,
    /// Share of the largest count, 0 to 100.
    pub width: u64,
    /// CSS class of the bar.
    pub class: &'static str,
    /// The audit page with this filter.
    pub href: String,
}

/// Requests of API keys.
#[derive(Clone, Debug)]
pub struct ScoreUse {
    pub admitted: String,
    pub refused: String,
    /// True if there was no request.
    pub empty: bool,
}

/// Something that needs attention.
#[derive(Clone, Debug)]
pub struct AttentionItem {
    /// Icon in the sprite.
    pub icon: &'static str,
    /// Name of the thing.
    pub name: String,
    /// Reason in a few words.
    pub why: String,
    pub href: String,
}

in_section!(HomePage => Home);
