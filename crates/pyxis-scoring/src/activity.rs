//! The local activity of wallets: files in, and what models see of each wallet kept in step.

mod import;
mod rebuild;

pub use import::{Imported, import};
pub use rebuild::{Rebuilt, lags, rebuild, renew};

use pyxis_models::chunk;
use pyxis_models::graph::{Builder, Graph};
use pyxis_store::{Store, StoreError, activity};

/// Why activity could not be taken in or looked at.
#[derive(Debug, thiserror::Error)]
pub enum ActivityError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file, or what is stored.
    #[error(transparent)]
    Unreadable(#[from] pyxis_models::Error),
    /// Another import of the same file runs.
    #[error("another import of this file is under way")]
    Overtaken,
    /// A rebuild that began later does this one's work.
    #[error("another process computes what models see of wallets; it takes in what is stored")]
    Elsewhere,
    /// The work was stopped.
    #[error("the work was stopped")]
    Stopped,
}

/// Every transfer that was imported, as a graph.
pub async fn graph(store: &Store) -> Result<Graph, ActivityError> {
    graph_of(store, &activity::chunks(store).await?).await
}

async fn graph_of(store: &Store, chunks: &[(String, i64)]) -> Result<Graph, ActivityError> {
    let mut builder = Builder::default();
    for (source, number) in chunks {
        // Taken away in this moment, it counts no more.
        let Some(data) = activity::chunk(store, source, *number).await? else { continue };
        let read = tokio::task::spawn_blocking(move || chunk::decode(&data, &mut builder).map(|()| builder));
        builder = read.await.map_err(|_| ActivityError::Stopped)??;
    }
    tokio::task::spawn_blocking(move || builder.build()).await.map_err(|_| ActivityError::Stopped)
}
