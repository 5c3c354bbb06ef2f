//! Scheduled changes of a scorer, applied to a record from before them. A record says what it needs for that: each Stamp
//! with its contribution, and the moment of its computation.

use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WorkspaceId};
use pyxis_store::scorer_changes::{self, ScorerChangeRow};
use pyxis_store::{Store, StoreError};

/// Changes that were in force by a moment, in their order. They never change: a change is withdrawn before its moment
/// or not at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScheduledTerms(Vec<ScorerChangeRow>);

/// Changes that came into force after a record was computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermsSince<'a>(&'a [ScorerChangeRow]);

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
        TermsSince(&self.0[self.0.partition_point(|change| change.effective_from <= computed_at)..])
    }
}

impl TermsSince<'_> {
    /// True if the record has all changes.
    pub(crate) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Threshold after the changes.
    pub(crate) fn threshold(self, recorded: Decimal) -> Decimal {
        self.0.iter().filter_map(|change| change.threshold).next_back().unwrap_or(recorded)
    }

    /// Contribution of a Stamp after the changes. A Stamp of which another address holds the account stays at zero.
    pub(crate) fn contribution(self, stamp: &str, recorded: Decimal, is_dedup: bool) -> Decimal {
        if is_dedup {
            return recorded;
        }
        let weights = self.0.iter().filter_map(|change| change.weights.as_ref()).next_back();
        weights.map_or(recorded, |weights| weights.get(stamp).copied().unwrap_or_default())
    }
}
