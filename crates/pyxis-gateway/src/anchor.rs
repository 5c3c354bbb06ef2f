//! The newest signed head of the audit trail, kept outside the database.
//!
//! Whoever can edit the database can cut its tail together with the head that names it; this file
//! then still names a record that is gone.

use std::path::Path;

use pyxis_store::audit::Checkpoint;

use crate::error::{Error, Result};

/// Replaces the file in one step. A failure is logged: the database has the same checkpoint.
pub(crate) async fn write(path: &Path, checkpoint: &Checkpoint) {
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
