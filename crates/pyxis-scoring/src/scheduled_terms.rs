//! Scheduled changes of a scorer, applied to a record from before them. A record says what it needs for that: each Stamp
//! with its contribution, and the moment of its computation.

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_core::score::KeptWeight;
use pyxis_store::scorer_changes::{self, ScorerChangeRow};
use pyxis_store::{Store, StoreError};

/// Changes that were in force by a moment, in their order. They never change: a change is withdrawn before its moment
/// or not at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScheduledTerms(Vec<ScorerChangeRow>);

/// Changes that came into force after a record was computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermsSince<'a> {
    changes: &'a [ScorerChangeRow],
    computed_at: UnixMillis,
}

impl ScheduledTerms {
    /// Reads the changes that were in force at a moment.
    pub(crate) async fn by(
        store: &Store,
        workspace: WorkspaceId,
        scorer: ScorerId,
        moment: UnixMillis,
    ) -> Result<Self, StoreError> {
        let mut changes = scorer_changes::list(store, workspace, scorer).await?;
        changes.retain(|change| change.effective_from <= moment);
        Ok(Self(changes))
    }

    /// The changes that a record computed at `computed_at` lacks.
    pub(crate) fn since(&self, computed_at: UnixMillis) -> TermsSince<'_> {
        let first = self.0.partition_point(|change| change.effective_from <= computed_at);
        TermsSince { changes: &self.0[first..], computed_at }
    }
}

impl TermsSince<'_> {
    /// True if the record has all changes.
    pub(crate) const fn is_empty(self) -> bool {
        self.changes.is_empty()
    }

    /// Threshold after the changes.
    pub(crate) fn threshold(self, recorded: Decimal) -> Decimal {
        self.changes.iter().filter_map(|change| change.threshold).next_back().unwrap_or(recorded)
    }

    /// Contribution of a Stamp after the changes. A Stamp of which another address holds the account stays at zero.
    pub(crate) fn contribution(self, stamp: &str, recorded: Decimal, is_dedup: bool) -> Decimal {
        if is_dedup {
            return recorded;
        }
        let last =
            self.changes.iter().rev().find_map(|change| Some((change.weights.as_ref()?, &change.kept)));
        let Some((weights, kept)) = last else { return recorded };
        let weight = weights.get(stamp).copied().unwrap_or_default();
        // The record has only Stamps issued before it. One that keeps an older weight had it in the record.
        let keeps = |one: &&KeptWeight| {
            one.provider.as_str() == stamp && (one.issued_before > self.computed_at || one.weight <= recorded)
        };
        kept.iter().filter(keeps).map(|one| one.weight).max().map_or(weight, |kept| weight.max(kept))
    }
}
