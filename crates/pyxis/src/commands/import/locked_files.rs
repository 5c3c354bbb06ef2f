//! The files of an import, locked for its exclusive use.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};

use crate::cli::Import;

/// The input, and the file for rejected lines.
pub(super) struct LockedFiles {
    /// `None`: standard input, which cannot be resumed.
    pub(super) file: Option<(PathBuf, File)>,
    pub(super) rejects: PathBuf,
}

impl LockedFiles {
    pub(super) fn open(wanted: &Import) -> Result<Self> {
        let path = (wanted.file != Path::new("-")).then(|| wanted.file.clone());
        let default_path = || with_suffix(path.as_deref().unwrap_or(Path::new("stamps")), ".rejects.jsonl");
        let rejects = wanted.rejects.clone().unwrap_or_else(default_path);
        let source = path.as_deref().unwrap_or(Path::new("/dev/stdin"));
        ensure!(
            !is_same(&rejects, source),
            "{} is the file to import; set --rejects to another file",
            rejects.display()
        );
        let open = |path: PathBuf| -> Result<_> {
            let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
            keep_for_itself(&file, &path)?;
            Ok((path, file))
        };
        Ok(Self { file: path.map(open).transpose()?, rejects })
    }

    pub(super) fn source(&self, from: u64) -> Result<Box<dyn BufRead + Send>> {
        let Some((_, file)) = &self.file else { return Ok(Box::new(BufReader::new(io::stdin()))) };
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(from))?;
        Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
    }

    pub(super) fn length(&self) -> u64 {
        self.file.as_ref().and_then(|(_, file)| file.metadata().ok()).map_or(0, |file| file.len())
    }
}

/// A path next to `path`, with `end` appended to the name.
pub(super) fn with_suffix(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// True if two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let file =
        |path| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| (file.dev(), file.ino()));
    file(one).is_some_and(|one| file(other) == Some(one))
}

/// Locks an open file: a second import of it would write the same checkpoint and the same rejects.
fn keep_for_itself(file: &File, path: &Path) -> Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            bail!("another import is using {}; wait until it ends", path.display())
        }
        // Not every file system supports locks.
        Err(TryLockError::Error(error)) => {
            tracing::warn!(%error, file = %path.display(), "cannot lock this file; make sure that no other \
                import uses it");
            Ok(())
        }
    }
}

/// The file for rejected lines and the reasons.
pub(super) struct Rejects {
    path: PathBuf,
    file: File,
    /// Length in bytes when it was opened.
    pub(super) length: u64,
    /// Current length in bytes.
    pub(super) written: Arc<AtomicU64>,
}

impl Rejects {
    /// Opens the existing file unchanged, or a new one.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let context = || format!("cannot write {}", path.display());
        let file =
            File::options().create(true).write(true).truncate(false).open(path).with_context(context)?;
        keep_for_itself(&file, path)?;
        let (path, length) = (path.canonicalize()?, file.metadata()?.len());
        Ok(Self { path, file, length, written: Arc::default() })
    }

    /// The name by which a later run recognizes it.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Truncates it to the import's checkpoint; never extends it.
    pub(super) fn truncate(&mut self, keep: u64) -> Result<()> {
        if self.length > keep {
            self.file.set_len(keep).with_context(|| format!("cannot write {}", self.path.display()))?;
        }
        self.file.seek(SeekFrom::End(0))?;
        self.written.store(keep, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the file if nothing was rejected.
    pub(super) fn forget_empty(&self) {
        if self.file.metadata().is_ok_and(|file| file.is_file() && file.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Write for Rejects {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let length = self.file.write(buffer)?;
        self.written.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
