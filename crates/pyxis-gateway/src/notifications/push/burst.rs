//! One notification instead of a flood.
//!
//! A browser gets a number of single notifications within a minute. Each later one shows how many followed them, with a
//! link to the inbox. It takes the place of the one before.

use std::time::Duration;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{PushSubscriptionId, WorkspaceId};
use pyxis_store::{Store, push};

use crate::error::Result;
use crate::runtime::state::State;

/// Time in which notifications are counted.
const WINDOW: Duration = Duration::from_mins(1);

/// Place of a notification among those of its minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstPlace {
    /// Time of the first notification of the minute; `None` if they are not counted.
    first: Option<UnixMillis>,
    /// Number of notifications that this one stands for, if it is one too many.
    pub(super) digest: Option<i64>,
}

impl BurstPlace {
    /// Counts a notification that is about to be sent.
    pub(super) async fn take(
        state: &State,
        workspace: WorkspaceId,
        browser: PushSubscriptionId,
    ) -> Result<Self> {
        let most = i64::from(state.config.chats.digest_after());
        if most == 0 {
            return Ok(Self { first: None, digest: None });
        }
        let now = state.now();
        let window = (now.minus(WINDOW), now);
        let counted = push::count_in_burst(&state.store, workspace, browser, window).await?;
        let (first, number) = counted.unwrap_or((now, 1));
        Ok(Self { first: Some(first), digest: (number > most).then_some(number - most) })
    }

    /// Takes it back, because it was not accepted and may be sent again.
    pub(super) async fn give_back(
        self,
        store: &Store,
        workspace: WorkspaceId,
        browser: PushSubscriptionId,
    ) -> Result<()> {
        if let Some(first) = self.first {
            push::remove_from_burst(store, workspace, browser, first).await?;
        }
        Ok(())
    }
}
