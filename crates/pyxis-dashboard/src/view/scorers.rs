//! Scorers: what Stamps are worth, and what is enough.

use askama::Template;

use super::{Layout, Problems, Search, Timestamp, in_section};
use crate::chart::histogram::Histogram;

/// `GET /app/scorers`.
#[derive(Clone, Debug, Template)]
#[template(path = "scorers.html")]
pub struct ScorersPage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// Those found, by number.
    pub scorers: Vec<ScorerLine>,
    /// A `curl` that asks for a score.
    pub ask: String,
}

/// One scorer in the list.
#[derive(Clone, Debug)]
pub struct ScorerLine {
    /// Number, part of every path of the API.
    pub id: String,
    /// Name.
    pub name: String,
    /// The score needed: `20`.
    pub threshold: String,
    /// `51 Stamps, together 145.2`.
    pub stamps: String,
    /// Addresses that it has scored: `1,204`.
    pub addresses: String,
    /// When it was added.
    pub created: Timestamp,
}

/// `GET /app/new/scorer`; posts to `/app/scorers`: `name`, `threshold`, `start` (`published` or `empty`).
#[derive(Clone, Debug, Template)]
#[template(path = "scorer_new.html")]
pub struct NewScorerPage {
    /// The frame.
    pub shell: Layout,
    /// Name as typed.
    pub name: String,
    /// Threshold as typed.
    pub threshold: String,
    /// True if to start without any weight.
    pub empty: bool,
    /// What is wrong.
    pub problems: Problems,
}

/// `GET /app/scorers/{id}`. The editor posts to the same path (save) or, with the draft as typed, to
/// `/preview`; `/remove` takes the scorer away.
#[derive(Clone, Debug, Template)]
#[template(path = "scorer.html")]
pub struct ScorerPage {
    /// The frame.
    pub shell: Layout,
    /// Number.
    pub id: String,
    /// Name as stored.
    pub name: String,
    /// The score needed, as stored.
    pub threshold: String,
    /// Addresses that it has scored: `1,204 addresses`.
    pub addresses: String,
    /// When it was added.
    pub created: Timestamp,
    /// The editor.
    pub form: ScorerForm,
    /// What the weights that are shown amount to.
    pub reach: Reach,
    /// True if somebody else saved in between, so that nothing was saved.
    pub overtaken: bool,
    /// What the draft would change.
    pub preview: Option<Preview>,
    /// What is stored, and how far it is from what the scorer says now.
    pub freshness: Freshness,
    /// A `curl` that asks for a score.
    pub ask: String,
}

/// The stored scores of a scorer. `/rescore` computes those that are outdated.
#[derive(Clone, Debug)]
pub enum Freshness {
    /// None is stored.
    Nothing,
    /// None is outdated.
    Current,
    /// So many of all are outdated: `1,204 of 20,000 scores`.
    Outdated(String),
    /// They are being computed; so many are left.
    Running(String),
}

/// The editor. Fields: `name`, `threshold`, `revision` (hidden: what the draft began from), one field
/// `weight.{Stamp}` for each row (blank: no weight), and `extra_name` with `extra_weight` for a Stamp
/// that is in no row.
#[derive(Clone, Debug)]
pub struct ScorerForm {
    /// Name.
    pub name: String,
    /// The score needed, as typed.
    pub threshold: String,
    /// What the draft began from.
    pub revision: String,
    /// Stamps by platform.
    pub platforms: Vec<WeightGroup>,
    /// A further Stamp.
    pub extra_name: String,
    /// Its weight.
    pub extra_weight: String,
    /// How many rows differ from what is stored, in words: `3 Stamps`.
    pub changed: Option<String>,
    /// What is wrong.
    pub problems: Problems,
}

/// The Stamps of one platform.
#[derive(Clone, Debug)]
pub struct WeightGroup {
    /// Its icon, a path of ours; none for Stamps that are not in the catalogue.
    pub icon: Option<String>,
    /// Its name.
    pub name: String,
    /// Its Stamps.
    pub rows: Vec<WeightRow>,
}

/// One Stamp.
#[derive(Clone, Debug)]
pub struct WeightRow {
    /// Name.
    pub stamp: String,
    /// What it says about its holder; may be empty.
    pub description: String,
    /// Weight as typed; blank for none.
    pub weight: String,
    /// What is stored, if it differs: `3.2`, `no weight`.
    pub stored: Option<String>,
    /// What is wrong with the weight.
    pub problem: Option<String>,
}

/// What weights amount to.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// All of them together.
    pub sum: String,
    /// `51 Stamps have a weight`.
    pub weighed: String,
    /// The score needed.
    pub threshold: String,
    /// Stamps that are enough alone, with their weights.
    pub alone: Vec<(String, String)>,
    /// The fewest Stamps that are enough together, if more than one is needed: a sentence.
    pub together: Option<String>,
    /// What makes the terms useless, as a sentence: nobody or everybody passes.
    pub warning: Option<String>,
}

/// What a draft would change for addresses that have a score.
#[derive(Clone, Debug)]
pub struct Preview {
    /// `500 stored addresses`.
    pub sample: String,
    /// True if there is any address to try it on.
    pub any: bool,
    /// How many pass now, `312 (62 %)`.
    pub before: String,
    /// How many would pass.
    pub after: String,
    /// How many would begin to pass.
    pub gained: String,
    /// How many would no longer pass.
    pub lost: String,
    /// The scores.
    pub histogram: Histogram,
}

in_section!(ScorersPage => Scorers, NewScorerPage => Scorers, ScorerPage => Scorers);
