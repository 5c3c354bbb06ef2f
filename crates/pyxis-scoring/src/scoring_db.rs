//! The database of scoring, with the outbox in which a changed score is told.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{ScorerId, WebhookId, WorkspaceId};
use pyxis_core::score::{ScoreResult, stored_to_json};
use pyxis_core::webhook::{ScoreChanged, WebhookEvent};
use pyxis_store::outbox::{self, Message, Outbox};
use pyxis_store::{Store, Tx, scores};
use serde::Deserialize;

use crate::error::Result;

/// What every transaction of scoring writes to.
#[derive(Clone)]
pub struct ScoringDb {
    store: Store,
    outbox: Outbox,
}

impl ScoringDb {
    /// A database, and where its news go.
    pub fn new(store: Store, outbox: Outbox) -> Self {
        Self { store, outbox }
    }
}

impl std::ops::Deref for ScoringDb {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Whose score in which scorer.
#[derive(Clone, Copy, Debug)]
pub struct ScoreKey {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The scorer, one of the workspace.
    pub scorer: ScorerId,
    /// The address.
    pub address: EvmAddress,
}

/// A stored score that is about to be replaced, and who wants to hear if that changes it.
pub(crate) struct PreviousScore {
    endpoints: Vec<WebhookId>,
    score: Decimal,
    passing: bool,
}

/// What of a stored record matters here.
#[derive(Deserialize)]
struct Known {
    score: Decimal,
    passing_score: bool,
}

impl PreviousScore {
    /// The score as it is stored; `None` where nobody wants to hear of changes, or where there is none yet: a
    /// first score changes nothing.
    pub(crate) async fn read(tx: &mut Tx, place: ScoreKey) -> Result<Option<Self>> {
        let ScoreKey { workspace, scorer, address } = place;
        let endpoints = outbox::wanting(&mut *tx, workspace, WebhookEvent::ScoreChanged).await?;
        if endpoints.is_empty() {
            return Ok(None);
        }
        let stored = scores::of_many(&mut *tx, workspace, scorer, &[address]).await?.pop();
        let record = stored.and_then(|found| stored_to_json(address, found.stored.body).ok());
        let known = record.and_then(|record| serde_json::from_str(&record).ok());
        Ok(known.map(|Known { score, passing_score }| Self { endpoints, score, passing: passing_score }))
    }

    /// Writes down that it changed, if `settled` did that.
    pub(crate) async fn enqueue_change(
        self,
        books: &ScoringDb,
        tx: &mut Tx,
        place: ScoreKey,
        settled: &ScoreResult,
        now: UnixMillis,
    ) -> Result<()> {
        if (self.score, self.passing) == (settled.score, settled.passing) {
            return Ok(());
        }
        let changed = ScoreChanged {
            scorer: place.scorer,
            address: place.address,
            previous_score: self.score,
            previous_passing: self.passing,
            score: settled.score,
            passing: settled.passing,
            computed_at: now,
        };
        let body = changed.to_json();
        let message = Message { event: WebhookEvent::ScoreChanged, txn: None, body: &body };
        Ok(books.outbox.write(tx, place.workspace, &self.endpoints, message, now).await?)
    }
}
