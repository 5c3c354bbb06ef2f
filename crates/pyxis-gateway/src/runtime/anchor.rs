//! The newest signed head of the audit trail, kept outside the database.
//!
//! Whoever can edit the database can cut its tail together with the head that names it; this file
//! then still names a record that is gone.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pyxis_store::audit::Checkpoint;

use crate::error::{Error, Result};

/// The newest head that this process signed, in case the file goes.
#[derive(Default)]
pub(crate) struct Anchor(Mutex<Option<Checkpoint>>);

impl Anchor {
    /// The newest signed head that is known of outside the database. `path` is where its file is, if it has one.
    pub(crate) async fn newest(&self, path: Option<&Path>) -> Result<Option<Checkpoint>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (&known, path) {
            (None, Some(path)) => read(path).await,
            _ => Ok(known),
        }
    }

    /// Keeps a head that was just signed.
    pub(crate) async fn keep(&self, path: Option<&Path>, checkpoint: Checkpoint) {
        if let Some(path) = path {
            write(path, &checkpoint).await;
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(checkpoint);
    }
}

/// Replaces the file in one step. A failure is logged: the database has the same checkpoint.
async fn write(path: &Path, checkpoint: &Checkpoint) {
    let next = path.with_extension("new");
    let line = format!("{checkpoint}\n");
    let written = async {
        tokio::fs::write(&next, line).await?;
        tokio::fs::rename(&next, path).await
    };
    if let Err(error) = written.await {
        tracing::warn!(%error, "the signed audit head could not be written beside the database");
    }
}

/// What the file says; `None` where there is none.
pub(crate) async fn read(path: &Path) -> Result<Option<Checkpoint>> {
    match tokio::fs::read_to_string(path).await {
        Ok(line) => line.trim().parse().map(Some).map_err(|error| Error::Internal(Box::new(error))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Internal(error.into())),
    }
}
