//! The Stamps that make up a score.

use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::Stamp;
use pyxis_core::stamp::Nullifier;
use pyxis_store::nullifier_sets::Sets;
use pyxis_store::{Executor, stamps};

use crate::error::Result;

/// Lifetime of a score that lacks Stamps. A repaired row counts after that.
const KEPT_IN_PART: Duration = Duration::from_hours(1);

/// The Stamps of an address that have not expired.
pub(super) struct Live {
    /// In the form that counts; see [`Self::with_set_names`].
    pub(super) stamps: Vec<Stamp>,
    /// Stamp numbers, each with the nullifiers as its issuer signed them.
    lists: Vec<(i64, Vec<Nullifier>)>,
    /// Number of further Stamps whose rows cannot be read.
    damaged: usize,
}

impl Live {
    pub(super) async fn read(
        executor: impl Executor,
        workspace: WorkspaceId,
        address: EvmAddress,
        now: UnixMillis,
    ) -> Result<Self> {
        let found = stamps::live_of(executor, workspace, address, now).await?;
        for problem in &found.damaged {
            tracing::error!(%address, problem, "a stored Stamp cannot be read and does not count");
        }
        let lists = found.stamps.iter().map(|stamp| (stamp.id, stamp.nullifiers.clone())).collect();
        let stamps = found.stamps.into_iter().map(Stamp::from).collect();
        Ok(Self { stamps, lists, damaged: found.damaged.len() })
    }

    /// The nullifiers of each Stamp as its issuer signed them.
    pub(super) fn lists(&self) -> Vec<&[Nullifier]> {
        self.lists.iter().map(|(_, nullifiers)| nullifiers.as_slice()).collect()
    }

    /// The nullifier lists with their Stamp numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (i64, &[Nullifier])> {
        self.lists.iter().map(|(id, nullifiers)| (*id, nullifiers.as_slice()))
    }

    /// The Stamps with their nullifiers replaced by the names of their sets.
    pub(super) fn with_set_names(self, sets: &Sets) -> Self {
        Self { stamps: self.stamps.into_iter().map(|stamp| sets.with_set_names(stamp)).collect(), ..self }
    }

    /// The record's note about Stamps that do not count (`docs/reference/behavior/scoring.md#known-holes`).
    pub(super) fn error(&self) -> Option<String> {
        match self.damaged {
            0 => None,
            1 => Some("1 stored Stamp cannot be read and does not count.".to_owned()),
            many => Some(format!("{many} stored Stamps cannot be read and do not count.")),
        }
    }

    pub(super) fn valid_until(&self, otherwise: UnixMillis, now: UnixMillis) -> UnixMillis {
        if self.damaged == 0 { otherwise } else { otherwise.min(now.plus(KEPT_IN_PART)) }
    }
}
