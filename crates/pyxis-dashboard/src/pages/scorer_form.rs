//! The weights editor: a draft as it is typed, and its differences from the stored scorer.

use std::collections::{BTreeMap, BTreeSet};

use pyxis_core::catalogue::Platform;
use pyxis_core::decimal::Decimal;
use pyxis_core::score::Weights;
use pyxis_core::stamp::StampName;
use pyxis_scoring::icon;
use pyxis_scoring::service::scorers::Scorer;

use crate::form::Fields;
use crate::text;
use crate::view::Problems;
use crate::view::scorers::{ScorerForm, WeightGroup, WeightRow};

/// Prefix of the names of weight fields.
const WEIGHT: &str = "weight.";
const NUMBER: &str = "Enter a number such as 1.5, with at most five decimal places.";

/// Draft of a scorer.
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) threshold: Option<Decimal>,
    pub(super) weights: Weights,
    /// The revision that the draft is based on.
    pub(super) revision: Option<i64>,
    pub(super) problems: Problems,
    /// True if holders keep a lowered weight until their Stamp expires.
    pub(super) keep_until_expiry: bool,
    threshold_typed: String,
    /// Weights as typed, by Stamp.
    typed: BTreeMap<StampName, String>,
    /// Stamps whose weight is not a number.
    wrong: BTreeSet<StampName>,
    extra: (String, String),
}

/// A number as typed; an empty one is zero.
pub(super) fn decimal(typed: &str) -> Option<Decimal> {
    if typed.is_empty() { Some(Decimal::ZERO) } else { typed.parse().ok() }
}

impl Draft {
    /// The draft that changes nothing.
    pub(super) fn from_scorer(scorer: &Scorer) -> Self {
        let typed = scorer.terms.weights.iter().map(|(stamp, weight)| (stamp.clone(), text::plain(*weight)));
        Self {
            name: scorer.name.clone(),
            threshold: Some(scorer.terms.threshold),
            weights: scorer.terms.weights.clone(),
            revision: Some(scorer.terms.revision),
            problems: Problems::default(),
            keep_until_expiry: false,
            threshold_typed: text::plain(scorer.terms.threshold),
            typed: typed.collect(),
            wrong: BTreeSet::new(),
            extra: Default::default(),
        }
    }

    /// The draft that was sent.
    pub(super) fn read(fields: &Fields) -> Self {
        let threshold_typed = fields.trimmed("threshold");
        let mut draft = Self {
            name: fields.trimmed("name"),
            threshold: threshold_typed.parse().ok(),
            weights: Weights::new(),
            revision: fields.get("revision").parse().ok(),
            problems: Problems::default(),
            keep_until_expiry: fields.get("keep_until_expiry") == "1",
            threshold_typed,
            typed: BTreeMap::new(),
            wrong: BTreeSet::new(),
            extra: (fields.trimmed("extra_name"), fields.trimmed("extra_weight")),
        };
        if draft.threshold.is_none() {
            draft.problems.add("threshold", NUMBER);
        }
        for (stamp, weight) in fields.beginning(WEIGHT) {
            // No one types the names of these fields: a name that is not a Stamp was not in our form.
            if let Ok(stamp) = stamp.parse() {
                draft.set_weight(stamp, weight.trim());
            }
        }
        draft.read_extra();
        draft
    }

    fn set_weight(&mut self, stamp: StampName, typed: &str) {
        match decimal(typed) {
            Some(Decimal::ZERO) => drop(self.weights.remove(&stamp)),
            Some(weight) => drop(self.weights.insert(stamp.clone(), weight)),
            None => {
                self.problems.add("weights", NUMBER);
                self.wrong.insert(stamp.clone());
            }
        }
        self.typed.insert(stamp, typed.to_owned());
    }

    /// Turns an additional Stamp that can be read into a row like the others.
    fn read_extra(&mut self) {
        let (name, weight) = std::mem::take(&mut self.extra);
        if name.is_empty() && weight.is_empty() {
            return;
        }
        match (name.parse::<StampName>(), decimal(&weight)) {
            (Ok(stamp), Some(_)) => self.set_weight(stamp, &weight),
            (Err(_), _) => {
                self.problems.add(
                    "extra_name",
                    "Enter the name that issuers sign: no spaces, at most 200 characters.",
                );
                self.extra = (name, weight);
            }
            (Ok(_), None) => {
                self.problems.add("extra_name", NUMBER);
                self.extra = (name, weight);
            }
        }
    }

    /// The same draft, based on what is stored now.
    pub(super) fn rebased(mut self, stored: &Scorer) -> Self {
        self.revision = Some(stored.terms.revision);
        self
    }

    /// The editor, with the stored values next to those that differ.
    pub(super) fn form(&self, stored: &Scorer, platforms: &[Platform]) -> ScorerForm {
        let mut listed = BTreeSet::new();
        let mut groups = Vec::with_capacity(platforms.len() + 1);
        for platform in platforms {
            let entries = platform.groups.iter().flat_map(|group| &group.stamps);
            let rows: Vec<_> = entries
                .inspect(|entry| _ = listed.insert(&entry.name))
                .map(|entry| self.row(stored, &entry.name, &entry.description))
                .collect();
            if !rows.is_empty() {
                let icon = Some(icon::path(&platform.id));
                groups.push(WeightGroup { icon, name: platform.name.clone(), rows });
            }
        }
        let all: BTreeSet<_> = stored.terms.weights.keys().chain(self.typed.keys()).collect();
        let rows: Vec<_> = all.difference(&listed).map(|stamp| self.row(stored, stamp, "")).collect();
        if !rows.is_empty() {
            groups.push(WeightGroup { icon: None, name: "Not in the catalogue".to_owned(), rows });
        }
        ScorerForm {
            name: self.name.clone(),
            threshold: self.threshold_typed.clone(),
            revision: self.revision.map(|revision| revision.to_string()).unwrap_or_default(),
            changed: self.changed(stored, &groups),
            keep_until_expiry: self.keep_until_expiry,
            platforms: groups,
            extra_name: self.extra.0.clone(),
            extra_weight: self.extra.1.clone(),
            problems: self.problems.clone(),
        }
    }

    fn row(&self, stored: &Scorer, stamp: &StampName, description: &str) -> WeightRow {
        let now = stored.terms.weights.get(stamp).copied().unwrap_or_default();
        let wanted = self.weights.get(stamp).copied().unwrap_or_default();
        let wrong = self.wrong.contains(stamp);
        let differs = wrong || now != wanted;
        let words = if now == Decimal::ZERO { "no weight".to_owned() } else { text::plain(now) };
        WeightRow {
            stamp: stamp.to_string(),
            description: description.to_owned(),
            weight: self.typed.get(stamp).cloned().unwrap_or_default(),
            stored: differs.then_some(words),
            problem: wrong.then(|| NUMBER.to_owned()),
        }
    }

    fn changed(&self, stored: &Scorer, groups: &[WeightGroup]) -> Option<String> {
        let weights = groups.iter().flat_map(|group| &group.rows).filter(|row| row.stored.is_some()).count();
        let mut changed = Vec::new();
        if weights > 0 {
            changed.push(text::count_noun(weights as u64, "weight"));
        }
        if self.threshold != Some(stored.terms.threshold) {
            changed.push("threshold".to_owned());
        }
        if self.name != stored.name {
            changed.push("name".to_owned());
        }
        (!changed.is_empty()).then(|| changed.join(", "))
    }
}
