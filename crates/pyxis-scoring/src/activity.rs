//! Local wallet activity: imports files and keeps the features that models read up to date.

mod import;
mod rebuild;

pub use import::{Imported, import};
pub use rebuild::{Rebuilt, lags, rebuild, renew_claim};

use pyxis_models::chunk;
use pyxis_models::graph::{Builder, Graph};
use pyxis_store::{Store, StoreError, activity};

/// Failures of importing or reading activity.
#[derive(Debug, thiserror::Error)]
pub enum ActivityError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file or the stored activity cannot be read.
    #[error(transparent)]
    Unreadable(#[from] pyxis_models::Error),
    /// Another import of the same file is running.
    #[error("another import of this file is running")]
    Overtaken,
    /// A later rebuild does this rebuild's work.
    #[error("another process is computing the features of wallets, including what was just stored")]
    Elsewhere,
    /// Canceled.
    #[error("the work was canceled")]
    Stopped,
}

/// Every imported transfer, as a graph.
pub async fn graph(store: &Store) -> Result<Graph, ActivityError> {
    graph_of(store, &activity::chunks(store).await?).await
}

async fn graph_of(store: &Store, chunks: &[(String, i64)]) -> Result<Graph, ActivityError> {
    let mut builder = Builder::default();
    for (source, number) in chunks {
        // Removed a moment ago: it no longer counts.
        let Some(data) = activity::chunk(store, source, *number).await? else { continue };
        let read = tokio::task::spawn_blocking(move || chunk::decode(&data, &mut builder).map(|()| builder));
        builder = read.await.map_err(|_| ActivityError::Stopped)??;
    }
    tokio::task::spawn_blocking(move || builder.build()).await.map_err(|_| ActivityError::Stopped)
}
