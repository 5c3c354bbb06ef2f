//! Sources of wallet activity.

use std::future::Future;
use std::pin::Pin;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_models::features::Features;
use pyxis_store::{Store, StoreError, activity};

use super::indexer_error::IndexerError;
use super::read;

/// Failures of a source, which never produce a score.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The imported activity is damaged.
    #[error(transparent)]
    Damaged(#[from] pyxis_models::Error),
    /// An indexer failed.
    #[error("the indexer of {chain}")]
    Indexer {
        /// Chain of the indexer.
        chain: &'static str,
        #[source]
        error: IndexerError,
    },
}

/// Answer of a source.
pub type FeaturesFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Features>, SourceError>> + Send + 'a>>;

/// A source of wallet activity.
pub trait ActivitySource: Send + Sync {
    /// The features of a wallet; `None` means too little activity.
    fn fetch_features(&self, address: EvmAddress, now: UnixMillis) -> FeaturesFuture<'_>;
}

pub struct ImportedActivity {
    store: Store,
}

impl ImportedActivity {
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl ActivitySource for ImportedActivity {
    fn fetch_features(&self, address: EvmAddress, _: UnixMillis) -> FeaturesFuture<'_> {
        Box::pin(async move {
            let stored = activity::wallet(&self.store, address).await?;
            Ok(stored.map(|bytes| read(address, &bytes)).transpose()?)
        })
    }
}
