//! Where the activity of a wallet comes from.

use std::future::Future;
use std::pin::Pin;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_models::features::Features;
use pyxis_store::{Store, StoreError, activity};

use super::indexer_error::IndexerError;
use super::read;

/// A source that fails never makes a score.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was imported is damaged.
    #[error(transparent)]
    Damaged(#[from] pyxis_models::Error),
    /// An indexer.
    #[error("the indexer of {chain}")]
    Indexer {
        /// Of which chain.
        chain: &'static str,
        /// Why.
        #[source]
        error: IndexerError,
    },
}

/// What a source answers.
pub type FeaturesFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Features>, SourceError>> + Send + 'a>>;

/// Knows the activity of wallets.
pub trait Source: Send + Sync {
    /// What models see of a wallet; `None` is too little activity.
    fn look(&self, address: EvmAddress, now: UnixMillis) -> FeaturesFuture<'_>;
}

/// What was imported.
pub struct Local {
    store: Store,
}

impl Local {
    /// Of a database.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Source for Local {
    fn look(&self, address: EvmAddress, _: UnixMillis) -> FeaturesFuture<'_> {
        Box::pin(async move {
            let stored = activity::wallet(&self.store, address).await?;
            Ok(stored.map(|bytes| read(address, &bytes)).transpose()?)
        })
    }
}
