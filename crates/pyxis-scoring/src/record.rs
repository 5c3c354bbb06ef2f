//! Score records, read back from their JSON form.

use std::collections::BTreeMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::score::stored_to_json;
use serde::{Deserialize, Serialize};

use crate::scheduled_terms::ScheduledTerms;

/// Members of a score record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) score: String,
    pub(crate) threshold: String,
    pub(crate) passing_score: bool,
    pub(crate) last_score_timestamp: String,
    pub(crate) expiration_timestamp: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) stamps: BTreeMap<String, RecordStamp>,
}

/// A Stamp of a score record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordStamp {
    pub(crate) score: String,
    pub(crate) dedup: bool,
    pub(crate) expiration_date: String,
}

impl Record {
    /// Reads a record in its JSON form. `None` if it is damaged.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Reads the stored record of an address. `None` if it is damaged.
    pub(crate) fn from_stored(address: EvmAddress, stored: String) -> Option<Self> {
        Self::from_json(&stored_to_json(address, stored).ok()?)
    }

    /// The record under the terms of a later moment. `None` if it is damaged.
    pub(crate) fn with_terms(mut self, terms: &ScheduledTerms) -> Option<Self> {
        let terms = terms.since(UnixMillis::parse_rfc3339(&self.last_score_timestamp)?);
        if terms.is_empty() {
            return Some(self);
        }
        let mut score = Decimal::ZERO;
        for (name, stamp) in &mut self.stamps {
            let contribution = terms.contribution(name, stamp.score.parse().ok()?, stamp.dedup);
            stamp.score = contribution.to_string();
            score = score + contribution;
        }
        let threshold = terms.threshold(self.threshold.parse().ok()?);
        self.passing_score = !self.stamps.is_empty() && score >= threshold;
        (self.score, self.threshold) = (score.to_string(), threshold.to_string());
        Some(self)
    }

    /// True if the score passes at a moment, without the Stamps that had expired. `None` if the record is damaged.
    pub(crate) fn passes_at(&self, at: UnixMillis) -> Option<bool> {
        let units = |text: &str| text.replace('.', "").parse::<u64>().ok();
        let (mut score, mut live, mut all_live) = (0_u64, 0, true);
        for stamp in self.stamps.values() {
            if UnixMillis::parse_rfc3339(&stamp.expiration_date)? > at {
                score = score.saturating_add(units(&stamp.score)?);
                live += 1;
            } else {
                all_live = false;
            }
        }
        let still = live > 0 && score >= units(&self.threshold)?;
        Some(if all_live { self.passing_score } else { still })
    }
}
