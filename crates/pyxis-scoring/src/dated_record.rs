//! Score records as they stood at a later moment. They lack the Stamps that had expired by then, and follow the terms
//! that were scheduled for then.

use std::collections::BTreeMap;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::score::stored_to_json;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::BoxError;
use crate::scheduled_terms::ScheduledTerms;

/// Members of a record that decide, with what changes in time.
#[derive(Deserialize)]
pub(crate) struct DatedRecord {
    score: Decimal,
    threshold: Decimal,
    passing_score: bool,
    last_score_timestamp: String,
    error: Option<IgnoredAny>,
    stamps: BTreeMap<String, DatedStamp>,
}

#[derive(Deserialize)]
struct DatedStamp {
    score: Decimal,
    dedup: bool,
    expiration_date: String,
}

/// A record at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatedScore {
    pub(crate) score: Decimal,
    /// True if the score reaches the scorer's threshold.
    pub(crate) passes: bool,
    /// True if there is a Stamp.
    pub(crate) has_stamps: bool,
    /// True if the score was computed only in part.
    pub(crate) partial: bool,
}

impl DatedRecord {
    /// Reads a record in its stored form.
    pub(crate) fn of_stored(address: EvmAddress, stored: String) -> Result<Self, BoxError> {
        Ok(serde_json::from_str(&stored_to_json(address, stored)?)?)
    }

    /// Reads a record as it is answered.
    pub(crate) fn of_answer(record: &str) -> Result<Self, BoxError> {
        Ok(serde_json::from_str(record)?)
    }

    /// The record at its own time.
    pub(crate) fn as_computed(&self) -> DatedScore {
        let Self { score, passing_score, ref error, ref stamps, .. } = *self;
        DatedScore { score, passes: passing_score, has_stamps: !stamps.is_empty(), partial: error.is_some() }
    }

    /// The record at a moment after its own time, under the terms of that moment. `None` if it cannot be read.
    pub(crate) fn at(&self, moment: UnixMillis, terms: &ScheduledTerms) -> Option<DatedScore> {
        let terms = terms.since(UnixMillis::parse_rfc3339(&self.last_score_timestamp)?);
        let (mut units, mut live) = (0_i64, 0);
        for (name, stamp) in &self.stamps {
            if UnixMillis::parse_rfc3339(&stamp.expiration_date)? > moment {
                units = units.saturating_add(terms.contribution(name, stamp.score, stamp.dedup).units());
                live += 1;
            }
        }
        if live == self.stamps.len() && terms.is_empty() {
            return Some(self.as_computed());
        }
        let score = Decimal::from_units(units);
        let has_stamps = live > 0;
        let passes = has_stamps && score >= terms.threshold(self.threshold);
        Some(DatedScore { score, passes, has_stamps, partial: self.error.is_some() })
    }
}
