//! Backups that the server makes on a schedule.
//!
//! One loop makes them one after the other. Each is checked like that of `pyxis backup` before it gets its name.
//! Only then are the oldest ones beyond the configured number removed. A failed upload is tried again until the
//! next backup is due and uploaded in its place.

mod object_storage;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::UnixMillis;
use pyxis_core::metric;
use pyxis_gateway::State;
use pyxis_signing::sigv4;
use pyxis_store::backup::{self, TrailCheck};
use pyxis_store::home;
use tokio::sync::watch;

use crate::config::Config;
use crate::config::backups::Backups;
use crate::signed_head;
use object_storage::S3Bucket;

/// Time before a backup or upload that failed is tried again.
const RETRY: Duration = Duration::from_mins(10);
/// Start and end of the files' names, around the time of the backup.
const PREFIX: &str = "pyxis-";
const SUFFIX: &str = ".db";

/// Checks the settings before the server starts.
pub fn check(config: &Config) -> Result<()> {
    let Some(backups) = &config.backups else { return Ok(()) };
    if config.database.sqlite_path().is_none() {
        bail!(
            "PX_BACKUP_DIR is for SQLite; back up PostgreSQL with its own tools, or run `pyxis backup` on a timer \
             (docs/guides/back-up-restore-upgrade.md)"
        );
    }
    if !backups.dir.is_dir() {
        bail!("PX_BACKUP_DIR: {} is not a directory; create it first", backups.dir.display());
    }
    check_writing(&backups.dir)
}

/// Refuses a directory that cannot be written, such as one that a systemd unit does not open.
fn check_writing(directory: &Path) -> Result<()> {
    let probe = directory.join(format!(".pyxis-{}", std::process::id()));
    let written = fs::File::create(&probe).and_then(|_file| fs::remove_file(&probe));
    written.with_context(|| {
        format!(
            "PX_BACKUP_DIR: cannot write to {0}; under systemd, add ReadWritePaths={0} to the unit",
            directory.display()
        )
    })
}

/// Makes backups until `stop` turns true.
pub async fn run(config: Config, state: State, mut stop: watch::Receiver<bool>) {
    let Some(settings) = &config.backups else { return };
    let mut schedule = Schedule::resumed(settings);
    loop {
        let wait = schedule.wait(settings, state.clock.now());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let done = tokio::select! {
            done = schedule.step(&config, settings, &state) => done,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        match done {
            Ok(()) => schedule.failed_at = None,
            Err(error) => {
                tracing::error!(error = %format_args!("{error:#}"), "the scheduled backup failed; will retry");
                schedule.failed_at = Some(state.clock.now());
            }
        }
    }
}

/// Time of the newest backup in the directory.
pub fn newest(settings: &Backups) -> Option<UnixMillis> {
    time_of(&newest_file(settings)?)
}

fn newest_file(settings: &Backups) -> Option<PathBuf> {
    files(&settings.dir).ok()?.into_iter().next_back()
}

/// Time at which a file was written.
fn time_of(path: &Path) -> Option<UnixMillis> {
    let made = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    let since = made.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(UnixMillis(i64::try_from(since.as_millis()).ok()?))
}

/// State of the schedule.
#[derive(Debug, Default)]
struct Schedule {
    /// Time of the newest backup.
    newest: Option<UnixMillis>,
    /// Backup that is not known to be uploaded.
    to_upload: Option<PathBuf>,
    /// Time of the last failure since the last success.
    failed_at: Option<UnixMillis>,
}

impl Schedule {
    /// Continues after the newest file in the directory. It may not have been uploaded, so that is done again.
    fn resumed(settings: &Backups) -> Self {
        let Some(path) = newest_file(settings) else { return Self::default() };
        let made = time_of(&path);
        let to_upload = settings.storage.is_some().then_some(path);
        if let (Some(made), None) = (made, &to_upload) {
            report(made);
        }
        Self { newest: made, to_upload, failed_at: None }
    }

    fn wait(&self, settings: &Backups, now: UnixMillis) -> Duration {
        let due = match (self.failed_at, &self.to_upload, self.newest) {
            (Some(failed), _, _) => failed.plus(RETRY.min(settings.interval)),
            (None, Some(_), _) | (None, None, None) => now,
            (None, None, Some(newest)) => newest.plus(settings.interval),
        };
        due.since(now)
    }

    /// Makes the next backup, or uploads the last one if the next one is not due yet.
    async fn step(&mut self, config: &Config, settings: &Backups, state: &State) -> Result<()> {
        let path = if let Some(path) = self.still_to_upload(settings, state.clock.now()) {
            path
        } else {
            let path = make(config, settings, state).await?;
            self.newest = Some(state.clock.now());
            if let Err(error) = prune(settings) {
                tracing::error!(error = %format_args!("{error:#}"), "an old backup stays");
            }
            path
        };
        if let Some(storage) = &settings.storage {
            self.to_upload = Some(path.clone());
            S3Bucket { net: &state.net, storage, clock: state.clock.as_ref() }.upload(&path).await?;
            self.to_upload = None;
        }
        let made = self.newest.unwrap_or_else(|| state.clock.now());
        report(made);
        // The backup is complete, whether or not the home page learns of it.
        if let Err(error) = home::record_backup(&state.store, made).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the time of the backup was not recorded"
            );
        }
        tracing::info!(file = %path.display(), "made the scheduled backup");
        Ok(())
    }

    /// The last backup, if it has not been uploaded and the next one is not due.
    fn still_to_upload(&self, settings: &Backups, now: UnixMillis) -> Option<PathBuf> {
        let is_due = self.newest.is_none_or(|newest| now >= newest.plus(settings.interval));
        self.to_upload.clone().filter(|path| !is_due && path.exists())
    }
}

async fn make(config: &Config, settings: &Backups, state: &State) -> Result<PathBuf> {
    // A killed backup left its file under the time of its start, which no later one has.
    if let Err(error) = backup::remove_leftovers(&settings.dir, is_ours) {
        tracing::warn!(%error, "what killed backups left stays");
    }
    let name = format!("{PREFIX}{}{SUFFIX}", sigv4::date(state.clock.now()));
    let path = settings.dir.join(name);
    let head = signed_head::read(config)?;
    let trail = TrailCheck { keys: &state.audit_keys, head: head.as_ref() };
    backup::write(&state.store, &path, Some(trail), |_| ()).await?;
    Ok(path)
}

/// Removes the oldest files beyond the number to keep.
fn prune(settings: &Backups) -> Result<()> {
    let files = files(&settings.dir)?;
    let extra = files.len().saturating_sub(settings.keep);
    for old in &files[..extra] {
        fs::remove_file(old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    Ok(())
}

/// Backups that the schedule made, oldest first.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_ours) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// True for `pyxis-20261126T180000Z.db`.
fn is_ours(name: &str) -> bool {
    let time = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    time.is_some_and(|time| {
        time.len() == 16
            && time.bytes().enumerate().all(|(at, byte)| match at {
                8 => byte == b'T',
                15 => byte == b'Z',
                _ => byte.is_ascii_digit(),
            })
    })
}

/// Sets the metric of the newest backup that is complete, wherever it had to go.
fn report(made: UnixMillis) {
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
    metrics::gauge!(metric::BACKUP_TIME.name).set(made.seconds() as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Backups {
        Backups { dir: PathBuf::new(), interval: Duration::from_hours(24), keep: 2, storage: None }
    }

    #[test]
    fn only_files_of_the_schedule_are_ever_removed() {
        assert!(is_ours("pyxis-20261126T180000Z.db"));
        for other in ["pyxis-2026-11-26", "pyxis-20261126T180000Z.db.partial", "pyxis.db", "pyxis-monday.db"]
        {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn an_upload_is_tried_again_until_the_next_backup_is_due() {
        let (settings, made) = (settings(), UnixMillis(1_000_000_000_000));
        let path = std::env::current_exe().unwrap();
        let schedule = Schedule { newest: Some(made), to_upload: Some(path.clone()), failed_at: None };
        assert_eq!(schedule.still_to_upload(&settings, made), Some(path));
        assert_eq!(schedule.still_to_upload(&settings, made.plus(settings.interval)), None);
    }

    #[test]
    fn a_backup_is_due_at_once_after_an_interval_and_soon_after_a_failure() {
        let (settings, now) = (settings(), UnixMillis(1_000_000_000_000));
        let of = |schedule: Schedule| schedule.wait(&settings, now);
        assert_eq!(of(Schedule::default()), Duration::ZERO);
        let hour = Duration::from_hours(1);
        let made = Schedule { newest: Some(now.minus(hour)), ..Schedule::default() };
        assert_eq!(of(made), Duration::from_hours(23));
        let overdue = Schedule { newest: Some(now.minus(30 * hour)), ..Schedule::default() };
        assert_eq!(of(overdue), Duration::ZERO);
        let failed = Schedule { failed_at: Some(now), to_upload: Some(PathBuf::new()), newest: None };
        assert_eq!(of(failed), RETRY);
    }
}
