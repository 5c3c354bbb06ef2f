//! Model scores: the models in force, what they say of wallets, and how much they have said.

mod active_models;
mod explanation;
mod indexer;
mod indexer_error;
mod serve_stats;
mod source;

pub use active_models::ActiveModels;
pub use explanation::{CustomName, FeatureLine, Told, ToldModel, tell};
pub use indexer::{Indexer, IndexerChain};
pub use indexer_error::IndexerError;
pub use source::{FeaturesFuture, Local, Source, SourceError};

use std::sync::Arc;

use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_models::Error;
use pyxis_models::bundle::Scores;
use pyxis_models::features::Features;
use pyxis_models::scope::Model;
use pyxis_store::{Store, StoreError};
use rayon::prelude::*;

use active_models::Holder;
use serve_stats::Served;

/// Wallets whose scores are kept.
const KEPT: u64 = 100_000;

/// The names of all models, as they are shown where one is not known.
pub(crate) fn names() -> String {
    Model::ALL.iter().map(|model| model.as_str()).collect::<Vec<_>>().join(", ")
}

/// Works on every item, on all cores, in order.
pub fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    items.par_iter().map(work).collect()
}

/// The stored features of a wallet.
pub fn read(address: EvmAddress, features: &[u8]) -> Result<Features, Error> {
    Features::from_bytes(features).ok_or_else(|| Error::Unreadable {
        what: "stored activity",
        why: format!("that of {address} is damaged; run pyxis activity rebuild"),
    })
}

/// The models of this server.
pub struct Models {
    holder: Holder,
    /// Scores by wallet, with what they were computed from.
    kept: Cache<EvmAddress, Arc<Kept>>,
    served: Served,
}

struct Kept {
    revision: Option<i64>,
    features: Vec<u8>,
    scores: Scores,
}

impl Models {
    /// The models of a database, loaded when they are first asked.
    pub fn new(store: Store) -> Self {
        Self { holder: Holder::new(store.clone()), kept: Cache::new(KEPT), served: Served::new(store) }
    }

    /// The models in force.
    pub async fn current(&self) -> Result<Arc<ActiveModels>, StoreError> {
        self.holder.current().await
    }

    /// The models of a revision that was just read from the database.
    pub(crate) async fn of_revision(&self, revision: Option<i64>) -> Result<Arc<ActiveModels>, StoreError> {
        self.holder.of_revision(revision).await
    }

    /// What the models say of a wallet whose stored features are these: from memory where they are the
    /// same as the last time.
    pub fn scores(&self, held: &ActiveModels, address: EvmAddress, features: &[u8]) -> Result<Scores, Error> {
        if let Some(kept) = self.kept.get(&address)
            && kept.revision == held.revision
            && kept.features == features
        {
            return Ok(kept.scores.clone());
        }
        let scores = held.bundle.scores(&read(address, features)?)?;
        let kept = Kept { revision: held.revision, features: features.to_vec(), scores: scores.clone() };
        self.kept.insert(address, Arc::new(kept));
        Ok(scores)
    }

    /// Stores what is not counted yet.
    pub(crate) async fn settled(&self) {
        self.served.settled().await;
    }

    /// Notes that a score was served; `None` is too little data.
    pub(crate) fn note(&self, model: Model, score: Option<f64>) {
        self.served.note(model, score);
    }
}
