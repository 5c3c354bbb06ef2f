//! The newest signed head of the audit trail, stored outside the database.
//!
//! A person who can edit the database can truncate the log together with its head. This file then still names the
//! missing record.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pyxis_store::audit::Checkpoint;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::error::{Error, Result};

/// Newest head signed by this process, in case the file is lost.
#[derive(Default)]
pub(crate) struct Anchor(Mutex<Option<Checkpoint>>);

impl Anchor {
    /// Newest signed head known outside the database. `path` is its file, if configured.
    pub(crate) async fn newest(&self, path: Option<&Path>) -> Result<Option<Checkpoint>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (&known, path) {
            (None, Some(path)) => read(path).await,
            _ => Ok(known),
        }
    }

    /// Stores a newly signed head.
    pub(crate) async fn store_head(&self, path: Option<&Path>, checkpoint: Checkpoint) {
        if let Some(path) = path {
            write(path, &checkpoint).await;
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(checkpoint);
    }
}

/// Replaces the file atomically and durably: a start compares it with the trail, and must not find half a line. A
/// failure is only logged, because the database has the same checkpoint.
async fn write(path: &Path, checkpoint: &Checkpoint) {
    let next = path.with_extension("new");
    let line = format!("{checkpoint}\n");
    let written = async {
        let mut file = File::create(&next).await?;
        file.write_all(line.as_bytes()).await?;
        file.sync_all().await?;
        tokio::fs::rename(&next, path).await
    };
    if let Err(error) = written.await {
        tracing::warn!(%error, "cannot write the signed audit head to audit-head.json");
    }
}

/// Reads the file; `None` if it does not exist.
pub(crate) async fn read(path: &Path) -> Result<Option<Checkpoint>> {
    match tokio::fs::read_to_string(path).await {
        Ok(line) => line.trim().parse().map(Some).map_err(|error| Error::Internal(Box::new(error))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Internal(error.into())),
    }
}
