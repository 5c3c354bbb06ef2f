//! Progress of an import, in a small file next to the imported one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use pyxis_core::digest::sha256_hex;
use pyxis_core::id::WorkspaceId;
use pyxis_scoring::import::ImportProgress;
use pyxis_store::{Store, stamps};
use serde::{Deserialize, Serialize};

use super::locked_files::{LockedFiles, Rejects, with_suffix};

/// Bytes at either end of the imported part that identify the file.
const MARK: u64 = 1024;

/// The checkpoint file of an import that can be resumed.
pub(super) struct Note<'a> {
    path: PathBuf,
    /// The imported file.
    file: &'a File,
    workspace: WorkspaceId,
    /// The rejects file, and its length when the import began.
    rejects: (String, u64),
}

/// Content of the checkpoint file. A checkpoint of an earlier version lacks fields and so never matches.
#[derive(Deserialize, Serialize)]
struct Checkpoint {
    progress: ImportProgress,
    /// Hash of the part imported by then ([`file_fingerprint`]).
    #[serde(default)]
    mark: String,
    /// Workspace that the Stamps were stored in.
    workspace: Option<WorkspaceId>,
    /// Path of the rejects file.
    #[serde(default)]
    rejects: String,
    /// Length of the rejects file by then.
    rejects_bytes: u64,
}

impl<'a> Note<'a> {
    /// `None` for standard input.
    pub(super) fn for_input(
        place: &'a LockedFiles,
        rejects: &Rejects,
        workspace: WorkspaceId,
    ) -> Option<Self> {
        let (path, file) = place.file.as_ref()?;
        let path = with_suffix(path, ".import.json");
        Some(Self { path, file, workspace, rejects: (rejects.name(), rejects.length) })
    }

    /// Progress of an earlier run, and the length of its rejects, if this run can resume there.
    pub(super) async fn load_progress(&self, store: &Store) -> Result<Option<(ImportProgress, u64)>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let text = fs::read(&self.path)?;
        let damaged = || format!("{} is damaged; use --restart to start over", self.path.display());
        let left: Checkpoint = serde_json::from_slice(&text).with_context(damaged)?;
        let note = self.path.display();
        if let Some(why) = self.obstacle(&left, store).await {
            tracing::warn!(%note, "{why}; starting from the beginning of the file");
            return Ok(None);
        }
        tracing::warn!(
            line = left.progress.lines,
            "resuming an interrupted import; use --restart to start over"
        );
        Ok(Some((left.progress, left.rejects_bytes)))
    }

    /// Reason that an import cannot resume an interrupted one.
    async fn obstacle(&self, left: &Checkpoint, store: &Store) -> Option<&'static str> {
        let (rejects, length) = &self.rejects;
        if !file_fingerprint(self.file, left.progress.bytes).is_ok_and(|found| found == left.mark) {
            return Some("the interrupted import was of another file");
        }
        if left.workspace != Some(self.workspace) {
            return Some("the interrupted import was into another workspace");
        }
        if left.rejects != *rejects || left.rejects_bytes > *length {
            return Some("the interrupted import wrote another rejects file");
        }
        // The database may be another one with the same workspace, or an older state of this one from a backup.
        let stored = match &left.progress.last {
            Some(digest) => stamps::find_by_digest(store, self.workspace, digest).await.ok().flatten(),
            None => None,
        };
        stored.is_none().then_some("the last credential of the interrupted import is not in this database")
    }

    /// Replaces the checkpoint in one step, so that it is never half written.
    pub(super) fn save(&self, progress: &ImportProgress, rejects_bytes: u64) -> Result<()> {
        let new = self.path.with_extension("json.new");
        let mark = file_fingerprint(self.file, progress.bytes)?;
        let (rejects, workspace) = (self.rejects.0.clone(), Some(self.workspace));
        let checkpoint = Checkpoint { progress: *progress, mark, workspace, rejects, rejects_bytes };
        fs::write(&new, serde_json::to_vec(&checkpoint)?)?;
        fs::rename(new, &self.path)?;
        Ok(())
    }

    pub(super) fn forget(&self) {
        // For an empty file it was never written.
        let _ = fs::remove_file(&self.path);
    }
}

/// A hash of the first and the last bytes of the first `bytes` bytes of a file. It is cheap for any length, and another
/// file hardly has the same credentials at both ends. Fails if the file is shorter.
fn file_fingerprint(file: &File, bytes: u64) -> io::Result<String> {
    let mut ends = vec![0; usize::try_from(2 * MARK.min(bytes)).map_err(io::Error::other)?];
    let half = ends.len() / 2;
    let (first, last) = ends.split_at_mut(half);
    file.read_exact_at(first, 0)?;
    file.read_exact_at(last, bytes - MARK.min(bytes))?;
    Ok(sha256_hex(&ends))
}
