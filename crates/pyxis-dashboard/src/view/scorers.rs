//! Scorers: Stamp weights and thresholds.

use askama::Template;

use super::{Layout, Problems, Search, Timestamp, in_section};
use crate::chart::histogram::Histogram;

/// `GET /app/scorers`.
#[derive(Clone, Debug, Template)]
#[template(path = "scorers.html")]
pub struct ScorersPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The scorers found, by number.
    pub scorers: Vec<ScorerLine>,
    /// A `curl` that asks for a score.
    pub ask: String,
}

/// One scorer in the list.
#[derive(Clone, Debug)]
pub struct ScorerLine {
    /// Number, part of every path of the API.
    pub id: String,
    pub name: String,
    /// The threshold: `20`.
    pub threshold: String,
    /// `51 Stamps, together 145.2`.
    pub stamps: String,
    /// Number of scored addresses: `1,204`.
    pub addresses: String,
    /// Time of creation.
    pub created: Timestamp,
}

/// `GET /app/new/scorer`; posts to `/app/scorers`: `name`, `threshold`, `start` (`published` or `empty`).
#[derive(Clone, Debug, Template)]
#[template(path = "scorer_new.html")]
pub struct NewScorerPage {
    pub shell: Layout,
    /// Name as typed.
    pub name: String,
    /// Threshold as typed.
    pub threshold: String,
    /// True to start without any weight.
    pub empty: bool,
    pub problems: Problems,
}

/// A change that waits for its moment.
#[derive(Clone, Debug)]
pub struct ScheduledRow {
    pub id: String,
    /// Its moment.
    pub from: Timestamp,
    /// New threshold.
    pub threshold: Option<String>,
    /// Number of weights that differ from today's, in words.
    pub weights: Option<String>,
    /// True if holders keep lowered weights.
    pub keeps: bool,
    /// Name of who scheduled it.
    pub by: String,
}

/// An earlier weight that credentials keep until they expire.
#[derive(Clone, Debug)]
pub struct KeptRow {
    pub stamp: String,
    pub weight: String,
    /// Only credentials issued before this moment keep it.
    pub before: Timestamp,
}

/// `GET /app/scorers/{id}`. The editor posts to the same path (save) or, with the draft as typed, to `/preview`;
/// `/remove` removes the scorer.
#[derive(Clone, Debug, Template)]
#[template(path = "scorer.html")]
pub struct ScorerPage {
    pub shell: Layout,
    /// Number.
    pub id: String,
    /// Name as stored.
    pub name: String,
    /// The threshold, as stored.
    pub threshold: String,
    /// Number of scored addresses: `1,204 addresses`.
    pub addresses: String,
    /// Time of creation.
    pub created: Timestamp,
    pub form: ScorerForm,
    /// Effect of the weights shown.
    pub reach: Reach,
    /// True if someone else saved in the meantime, so that nothing was saved.
    pub overtaken: bool,
    /// Changes that the draft would make.
    pub preview: Option<Preview>,
    /// Changes that wait for their moment.
    pub scheduled: Vec<ScheduledRow>,
    /// Earlier weights that credentials keep.
    pub kept: Vec<KeptRow>,
    /// State of the stored scores.
    pub freshness: Freshness,
    /// A `curl` that asks for a score.
    pub ask: String,
}

/// State of a scorer's stored scores. `/rescore` recomputes the stale ones.
#[derive(Clone, Debug)]
pub enum Freshness {
    /// None is stored.
    Nothing,
    /// None is stale.
    Current,
    /// This many are stale: `1,204 of 20,000 scores`.
    Stale(String),
    /// Being recomputed; this many are left.
    Running(String),
}

/// The editor. Fields: `name`, `threshold`, and `revision` (hidden: the one that the draft is based on). One field
/// `weight.{Stamp}` for each row (blank: no weight). `keep_until_expiry` is `1` if it is ticked. `extra_name` with
/// `extra_weight` is for a Stamp that is in no row.
#[derive(Clone, Debug)]
pub struct ScorerForm {
    pub name: String,
    /// The threshold, as typed.
    pub threshold: String,
    /// Revision that the draft is based on.
    pub revision: String,
    /// Holders keep lowered weights, as ticked.
    pub keep_until_expiry: bool,
    /// Stamps by platform.
    pub platforms: Vec<WeightGroup>,
    /// Name of an additional Stamp.
    pub extra_name: String,
    pub extra_weight: String,
    /// Number of rows that differ from the stored ones, in words: `3 Stamps`.
    pub changed: Option<String>,
    pub problems: Problems,
}

/// The Stamps of one platform.
#[derive(Clone, Debug)]
pub struct WeightGroup {
    /// Its icon, one of our paths; none for Stamps that are not in the catalogue.
    pub icon: Option<String>,
    pub name: String,
    /// Its Stamps.
    pub rows: Vec<WeightRow>,
}

/// One Stamp.
#[derive(Clone, Debug)]
pub struct WeightRow {
    /// Name.
    pub stamp: String,
    /// Description of what it says about its holder; may be empty.
    pub description: String,
    /// Weight as typed; blank for none.
    pub weight: String,
    /// Stored weight, if it differs: `3.2`, `no weight`.
    pub stored: Option<String>,
    /// Problem with the weight.
    pub problem: Option<String>,
}

/// Effect of weights.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Sum of all weights.
    pub sum: String,
    /// `51 Stamps have a weight`.
    pub weighed: String,
    pub threshold: String,
    /// Stamps that reach the threshold alone, with their weights.
    pub alone: Vec<(String, String)>,
    /// The fewest Stamps that reach it together, if more than one is needed: a sentence.
    pub together: Option<String>,
    /// Warning that no one or everyone passes, as a sentence.
    pub warning: Option<String>,
}

/// Effect of a draft on addresses that have a score.
#[derive(Clone, Debug)]
pub struct Preview {
    /// `500 stored addresses`.
    pub sample: String,
    /// True if there is any address to try it on.
    pub any: bool,
    /// Number that pass now: `312 (62 %)`.
    pub before: String,
    /// Number that would pass.
    pub after: String,
    /// Number that would start to pass.
    pub gained: String,
    /// Number that would no longer pass.
    pub lost: String,
    pub histogram: Histogram,
}

in_section!(ScorersPage => Scorers, NewScorerPage => Scorers, ScorerPage => Scorers);
