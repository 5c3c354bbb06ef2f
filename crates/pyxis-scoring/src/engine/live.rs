//! The Stamps that a score is made of.

use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::Stamp;
use pyxis_core::stamp::Nullifier;
use pyxis_store::{Executor, stamps};

use crate::error::Result;

/// How long a score that lacks Stamps is kept: a row that somebody mended counts after that.
const KEPT_IN_PART: Duration = Duration::from_hours(1);

/// The Stamps of an address that have not expired.
pub(super) struct Live {
    pub(super) stamps: Vec<Stamp>,
    /// Their numbers.
    ids: Vec<i64>,
    /// How many more there are, whose rows cannot be read.
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
        let ids = found.stamps.iter().map(|stamp| stamp.id).collect();
        let stamps = found.stamps.into_iter().map(Stamp::from).collect();
        Ok(Self { stamps, ids, damaged: found.damaged.len() })
    }

    /// Their numbers, and the nullifiers of each.
    pub(super) fn nullifiers(&self) -> impl Iterator<Item = (i64, &[Nullifier])> {
        self.ids.iter().copied().zip(self.stamps.iter().map(|stamp| stamp.nullifiers.as_slice()))
    }

    /// What the record says about Stamps that do not count (decisions, Known holes).
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
