//! The active models, in memory.

use std::sync::{Arc, PoisonError, RwLock};

use pyxis_models::bundle::Bundle;
use pyxis_store::{Store, StoreError, models};

/// Models and their origin.
#[derive(Debug)]
pub struct ActiveModels {
    /// The revision in the database; `None`: none was ever installed.
    pub revision: Option<i64>,
    /// Fingerprint of the models.
    pub fingerprint: String,
    pub bundle: Bundle,
}

impl ActiveModels {
    /// The revision, unless all models are the built-in ones.
    pub fn installed(&self) -> Option<i64> {
        self.revision.filter(|_| !self.bundle.of_program || !self.bundle.customs.is_empty())
    }
}

/// Loads models when the active revision differs from the one in memory.
pub(super) struct Holder {
    store: Store,
    held: RwLock<Option<Arc<ActiveModels>>>,
}

impl Holder {
    pub(super) fn new(store: Store) -> Self {
        Self { store, held: RwLock::default() }
    }

    pub(super) async fn current(&self) -> Result<Arc<ActiveModels>, StoreError> {
        let revision = models::revision(&self.store).await?;
        self.of_revision(revision).await
    }

    pub(super) async fn of_revision(&self, revision: Option<i64>) -> Result<Arc<ActiveModels>, StoreError> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(held) = held.filter(|held| held.revision == revision) {
            return Ok(held);
        }
        let bundle = match revision {
            None => pyxis_models::built_in(),
            Some(number) => match models::bundle(&self.store, number).await? {
                Some(bytes) if !bytes.is_empty() => Bundle::from_bytes(&bytes),
                // Removed: the built-in models are active.
                _ => pyxis_models::built_in(),
            },
        };
        let bundle = bundle.map_err(|error| StoreError::Corrupt {
            table: "model_bundles",
            column: "data",
            row: error.to_string(),
        })?;
        let held = Arc::new(ActiveModels { revision, fingerprint: bundle.fingerprint(), bundle });
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&held));
        Ok(held)
    }
}
