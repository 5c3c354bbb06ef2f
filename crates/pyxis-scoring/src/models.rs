//! Model scores: the active models, their scores of wallets, and counts of the scores served.

mod active_models;
mod explanation;
mod indexer;
mod indexer_error;
mod serve_stats;
mod source;

pub use active_models::ActiveModels;
pub use explanation::{CustomName, FeatureLine, ModelExplanation, WalletExplanation, explain_model};
pub use indexer::{Indexer, IndexerChain};
pub use indexer_error::IndexerError;
pub use source::{ActivitySource, FeaturesFuture, ImportedActivity, SourceError};

use std::sync::Arc;

use moka::sync::Cache;
use pyxis_core::address::EvmAddress;
use pyxis_models::Error;
use pyxis_models::bundle::Scores;
use pyxis_models::clusters::{Group, GroupExtent};
use pyxis_models::features::Features;
use pyxis_models::scope::Model;
use pyxis_store::models::GroupRow;
use pyxis_store::{Store, StoreError};
use rayon::prelude::*;

use active_models::Holder;
use serve_stats::ServeStats;

/// Maximum number of wallets in the score cache.
const KEPT: u64 = 100_000;

/// The names of all models, for the error about an unknown one.
pub(crate) fn names() -> String {
    Model::ALL.iter().map(|model| model.as_str()).collect::<Vec<_>>().join(", ")
}

/// Maps every item on all cores and keeps the order.
pub fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    items.par_iter().map(work).collect()
}

/// Decodes a wallet's stored features.
pub fn read(address: EvmAddress, features: &[u8]) -> Result<Features, Error> {
    Features::from_bytes(features).ok_or_else(|| Error::Unreadable {
        what: "stored activity",
        why: format!("the features of {address} are damaged; run pyxis activity rebuild"),
    })
}

/// A suspected group with all its members, or with the listed ones if an earlier release stored it.
pub fn whole_group(row: &GroupRow) -> Result<(Group, GroupExtent), Error> {
    let damaged = |why: &str| Error::Unreadable {
        what: "a suspected group",
        why: format!("group {}: {why}; run pyxis activity rebuild", row.position),
    };
    let group: Group = serde_json::from_str(&row.document).map_err(|error| damaged(&error.to_string()))?;
    let extent = match (&row.members, &row.links) {
        (Some(members), Some(links)) => {
            GroupExtent::from_bytes(members, links).ok_or_else(|| damaged("its members are damaged"))?
        }
        _ => GroupExtent::from(&group),
    };
    Ok((group, extent))
}

/// The models of this server.
pub struct Models {
    holder: Holder,
    /// Scores by wallet, with the input that they were computed from.
    kept: Cache<EvmAddress, Arc<StoredFeatures>>,
    served: ServeStats,
}

struct StoredFeatures {
    revision: Option<i64>,
    features: Vec<u8>,
    scores: Scores,
}

impl Models {
    /// The models of a database, loaded on first use.
    pub fn new(store: Store) -> Self {
        Self { holder: Holder::new(store.clone()), kept: Cache::new(KEPT), served: ServeStats::new(store) }
    }

    pub async fn current(&self) -> Result<Arc<ActiveModels>, StoreError> {
        self.holder.current().await
    }

    /// The models of a revision that was just read from the database.
    pub(crate) async fn of_revision(&self, revision: Option<i64>) -> Result<Arc<ActiveModels>, StoreError> {
        self.holder.of_revision(revision).await
    }

    /// The model scores of a wallet with these stored features. Taken from memory if the features have not changed.
    pub fn scores(&self, held: &ActiveModels, address: EvmAddress, features: &[u8]) -> Result<Scores, Error> {
        if let Some(kept) = self.kept.get(&address)
            && kept.revision == held.revision
            && kept.features == features
        {
            return Ok(kept.scores.clone());
        }
        let scores = held.bundle.scores(&read(address, features)?)?;
        let kept =
            StoredFeatures { revision: held.revision, features: features.to_vec(), scores: scores.clone() };
        self.kept.insert(address, Arc::new(kept));
        Ok(scores)
    }

    /// Stores counts that are not stored yet.
    pub(crate) async fn flush(&self) {
        self.served.flush().await;
    }

    /// Records that a score was served; `None` means too little data.
    pub(crate) fn record_served(&self, model: Model, score: Option<f64>) {
        self.served.record(model, score);
    }
}
