//! A backup under its temporary name, until it is whole.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Suffix of the temporary name.
const SUFFIX: &str = ".partial";

/// Attempts to replace what a killed backup left, while others do the same.
const ATTEMPTS: usize = 8;

/// A backup that is being written to `NAME.partial`. Dropping it removes the file; [`publish`](Self::publish) gives it
/// its name.
pub(super) struct Partial {
    path: PathBuf,
    /// Locked while this backup runs, so that a later one can tell it from what a killed one left. SQLite uses
    /// locks of another kind on the same file and loses them when any descriptor is closed. So this one stays open
    /// to the end.
    file: File,
}

impl Partial {
    /// Creates the file, readable by its owner only. Replaces what a killed backup left under this name.
    pub(super) fn create(target: &Path) -> Result<Self, StoreError> {
        let path = suffixed(target, SUFFIX);
        for _ in 0..ATTEMPTS {
            let mut options = File::options();
            match options.read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    file.try_lock().map_err(|error| locked(&path, error))?;
                    return Ok(Self { path, file });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => remove_stale(&path)?,
                Err(error) => return Err(failed("create", &path, &error)),
            }
        }
        Err(StoreError::Backup(format!("other backups are being written to {}", path.display())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the content durable and gives it its name, which must be free.
    pub(super) fn publish(self, target: &Path) -> Result<(), StoreError> {
        let name = |error| failed("write", target, &error);
        self.file.sync_all().map_err(name)?;
        if target.exists() {
            return Err(StoreError::Backup(format!("{} already exists", target.display())));
        }
        fs::rename(&self.path, target).map_err(name)?;
        let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or_else(|| Path::new("."));
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(name)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `publish`, nothing has this name anymore.
        remove(&self.path);
    }
}

/// Removes what a killed backup left. The lock shows that it no longer runs.
fn remove_stale(path: &Path) -> Result<(), StoreError> {
    let file = match File::options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("read", path, &error)),
    };
    file.try_lock().map_err(|error| locked(path, error))?;
    // Meanwhile, the other backup may have given its file the final name.
    let same = |other: fs::Metadata, own: fs::Metadata| (other.dev(), other.ino()) == (own.dev(), own.ino());
    let own = file.metadata().map_err(|error| failed("read", path, &error))?;
    if fs::symlink_metadata(path).is_ok_and(|other| same(other, own)) {
        remove(path);
    }
    Ok(())
}

/// Removes the file and those that SQLite puts next to it.
fn remove(path: &Path) {
    for suffix in ["-wal", "-shm", "-journal", ""] {
        let path = suffixed(path, suffix);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "cannot remove a temporary file of a backup");
        }
    }
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn locked(path: &Path, error: TryLockError) -> StoreError {
    match error {
        TryLockError::WouldBlock => {
            StoreError::Backup(format!("another backup is being written to {}", path.display()))
        }
        TryLockError::Error(error) => failed("lock", path, &error),
    }
}

fn failed(verb: &str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Backup(format!("cannot {verb} {}: {error}", path.display()))
}
