//! A backup under its temporary name, until it is whole.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Suffix of the temporary name.
const SUFFIX: &str = ".partial";

/// Ends of the names of files that SQLite puts next to it.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

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
                Ok(file) => match file.try_lock() {
                    Ok(()) if is_at(&file, &path) => return Ok(Self { path, file }),
                    // Another process took it for what a killed backup left, and removes it.
                    Ok(()) | Err(TryLockError::WouldBlock) => {}
                    Err(error) => return Err(locked(&path, error)),
                },
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
    if is_at(&file, path) {
        remove(path);
    }
    Ok(())
}

/// True if the path still leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |other: fs::Metadata, own: fs::Metadata| (other.dev(), other.ino()) == (own.dev(), own.ino());
    let own = file.metadata();
    fs::symlink_metadata(path).is_ok_and(|other| own.is_ok_and(|own| same(other, own)))
}

/// Removes what killed backups left in a directory, for the targets whose file name `is_ours` accepts. A file that a
/// running process holds stays.
pub fn remove_leftovers(directory: &Path, is_ours: impl Fn(&str) -> bool) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let Some((target, rest)) = name.to_str().and_then(|name| name.split_once(SUFFIX)) else { continue };
        if !is_ours(target) {
            continue;
        }
        let partial = directory.join(format!("{target}{SUFFIX}"));
        if rest.is_empty() {
            if let Err(error) = remove_stale(&partial) {
                tracing::debug!(%error, "a backup of another process stays");
            }
        } else if SIDE_FILES.contains(&rest) && !partial.exists() {
            remove_file(&directory.join(&name));
        }
    }
    Ok(())
}

/// Removes the file and those that SQLite puts next to it.
fn remove(path: &Path) {
    for suffix in SIDE_FILES.into_iter().chain([""]) {
        remove_file(&suffixed(path, suffix));
    }
}

fn remove_file(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot remove a temporary file of a backup");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_backups_left_is_removed_and_a_running_one_and_foreign_files_stay() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in
            ["ours-1.partial", "ours-1.partial-journal", "ours-2.partial-wal", "mine.partial", "ours-1"]
        {
            fs::write(at(name), "x").unwrap();
        }
        let running = Partial::create(&at("ours-3")).unwrap();
        fs::write(at("ours-3.partial-journal"), "x").unwrap();
        remove_leftovers(directory.path(), |name| name.starts_with("ours-")).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["mine.partial", "ours-1", "ours-3.partial", "ours-3.partial-journal"]);
        drop(running);
    }
}
