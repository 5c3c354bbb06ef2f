//! The scoring database, with the outbox for score-change events.

use std::sync::Arc;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::{DeliveryId, ScorerId, WebhookId, WorkspaceId};
use pyxis_core::score::{ScoreResult, stored_to_json};
use pyxis_core::webhook::{ReviewEvent, ScoreChanged, WebhookEvent};
use pyxis_store::cipher::Sealed;
use pyxis_store::erasures::AddressHash;
use pyxis_store::outbox::{self, Message, Outbox};
use pyxis_store::{Store, StoreError, Tx, deliveries, scores};
use serde::Deserialize;

use crate::error::Result;

/// The store and outbox that every scoring transaction writes to.
#[derive(Clone)]
pub struct ScoringDb {
    store: Store,
    outbox: Outbox,
    /// Scorers that are open to votes. Each of their scores becomes history when it is computed.
    open_to_votes: Arc<[ScorerId]>,
}

impl ScoringDb {
    pub fn new(store: Store, outbox: Outbox, open_to_votes: &[ScorerId]) -> Self {
        Self { store, outbox, open_to_votes: open_to_votes.into() }
    }

    /// Scorers that are open to votes, of any workspace.
    pub(crate) fn open_to_votes(&self) -> &[ScorerId] {
        &self.open_to_votes
    }

    pub(crate) fn is_open_to_votes(&self, scorer: ScorerId) -> bool {
        self.open_to_votes.contains(&scorer)
    }

    /// Hash that stands for an erased address.
    pub(crate) fn hash_of(&self, workspace: WorkspaceId, address: EvmAddress) -> AddressHash {
        AddressHash::new(self.outbox.keyring(), workspace, address)
    }

    /// Writes an event about a review for the endpoints that subscribed to it.
    pub(crate) async fn enqueue_review(
        &self,
        tx: &mut Tx,
        workspace: WorkspaceId,
        review: &ReviewEvent<'_>,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let endpoints = outbox::wanting(&mut *tx, workspace, review.event()).await?;
        let body = review.to_json();
        let message = Message { event: review.event(), txn: None, body: &body };
        self.outbox.write(tx, workspace, &endpoints, message, now).await
    }

    /// The address that an event is about; `None` if its body cannot be read.
    pub(crate) fn address_in(
        &self,
        workspace: WorkspaceId,
        id: DeliveryId,
        body: &Sealed,
    ) -> Option<EvmAddress> {
        #[derive(Deserialize)]
        struct About {
            address: EvmAddress,
        }
        let opened = self.outbox.keyring().open(&deliveries::body_aad(workspace, id), body).ok()?;
        serde_json::from_slice(opened.expose()).ok().map(|About { address }| address)
    }
}

impl std::ops::Deref for ScoringDb {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Key of a stored score: workspace, scorer and address.
#[derive(Clone, Copy, Debug)]
pub struct ScoreKey {
    pub workspace: WorkspaceId,
    /// A scorer of the workspace.
    pub scorer: ScorerId,
    pub address: EvmAddress,
}

/// A stored score that is about to be replaced, and the subscribers to its change.
pub(crate) struct PreviousScore {
    endpoints: Vec<WebhookId>,
    score: Decimal,
    passing: bool,
}

/// The fields of a stored record that matter here.
#[derive(Deserialize)]
struct PreviousRecord {
    score: Decimal,
    passing_score: bool,
}

impl PreviousScore {
    /// Reads the stored score; `None` if no one subscribed to changes, or if none is stored yet: a first score is not a
    /// change.
    pub(crate) async fn read(tx: &mut Tx, place: ScoreKey) -> Result<Option<Self>> {
        let ScoreKey { workspace, scorer, address } = place;
        let endpoints = outbox::wanting(&mut *tx, workspace, WebhookEvent::ScoreChanged).await?;
        if endpoints.is_empty() {
            return Ok(None);
        }
        let stored = scores::of_many(&mut *tx, workspace, scorer, &[address]).await?.pop();
        let record = stored.and_then(|found| stored_to_json(address, found.stored.body).ok());
        let known = record.and_then(|record| serde_json::from_str(&record).ok());
        Ok(known.map(|PreviousRecord { score, passing_score }| Self {
            endpoints,
            score,
            passing: passing_score,
        }))
    }

    /// Records a change event if `settled` changed the score.
    pub(crate) async fn enqueue_change(
        self,
        db: &ScoringDb,
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
        Ok(db.outbox.write(tx, place.workspace, &self.endpoints, message, now).await?)
    }
}
