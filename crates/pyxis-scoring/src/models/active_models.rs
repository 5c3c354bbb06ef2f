//! The models in force, in memory.

use std::sync::{Arc, PoisonError, RwLock};

use pyxis_models::bundle::Bundle;
use pyxis_store::{Store, StoreError, models};

/// Models and where they are from.
#[derive(Debug)]
pub struct ActiveModels {
    /// The revision in the database; `None`: nothing was ever installed.
    pub revision: Option<i64>,
    /// What names them.
    pub fingerprint: String,
    /// The models.
    pub bundle: Bundle,
}

impl ActiveModels {
    /// The revision, unless all models are those that come with the program.
    pub fn installed(&self) -> Option<i64> {
        self.revision.filter(|_| !self.bundle.of_program || !self.bundle.customs.is_empty())
    }
}

/// Loads models when the revision in force is another than the one in memory.
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
                // Taken away: those of the program are in force.
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
