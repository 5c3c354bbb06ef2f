//! Progress of an import, in a row of the database, so that the metrics of the servers show it. An import runs in
//! a process of its own.

use std::time::Duration;

use anyhow::Result;
use pyxis_core::clock::{Clock, SystemClock, UnixMillis};
use pyxis_core::metric;
use pyxis_scoring::import::ImportProgress;
use pyxis_store::{Store, meta};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Key of the newest progress.
const KEY: &str = "import_progress";
/// Interval for writing it.
const INTERVAL: Duration = Duration::from_secs(5);

/// Progress of the import that was started last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct PublishedProgress {
    /// Time of writing; `None` once the import is complete.
    at: Option<UnixMillis>,
    stored: u64,
    unchanged: u64,
    rejected: u64,
    /// Bytes of the file that are not read yet.
    remaining: u64,
}

impl PublishedProgress {
    fn new(progress: &ImportProgress, length: u64, at: Option<UnixMillis>) -> Self {
        let stored = progress.accepted + progress.replaced;
        let remaining = length.saturating_sub(progress.bytes);
        Self { at, stored, unchanged: progress.unchanged, rejected: progress.rejected, remaining }
    }

    async fn write(&self, store: &Store) -> Result<()> {
        Ok(meta::put(store, KEY, &serde_json::to_string(self)?).await?)
    }

    /// The newest one, unless there was no import yet.
    pub(crate) async fn read(store: &Store) -> Result<Option<Self>> {
        let text = meta::get(store, KEY).await?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// Sets the gauges.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    pub(crate) fn show(&self) {
        let time = self.at.map_or(0.0, crate::telemetry::seconds);
        metrics::gauge!(metric::IMPORT_TIME.name).set(time);
        let counts = [("stored", self.stored), ("unchanged", self.unchanged), ("rejected", self.rejected)];
        for (result, count) in counts {
            metrics::gauge!(metric::IMPORT_LINES.name, "result" => result).set(count as f64);
        }
        metrics::gauge!(metric::IMPORT_REMAINING.name).set(self.remaining as f64);
    }
}

/// Writes the progress of a running import. It never fails an import.
pub(crate) struct ProgressPublisher {
    store: Store,
    length: u64,
    newest: watch::Sender<ImportProgress>,
    writing: JoinHandle<()>,
}

impl ProgressPublisher {
    /// Starts with an import that begins at `begun`; `length` is the length of its file.
    pub(crate) async fn start(store: &Store, length: u64, begun: ImportProgress) -> Self {
        let (newest, mut changed) = watch::channel(begun);
        publish(store, PublishedProgress::new(&begun, length, Some(SystemClock.now()))).await;
        let writer = store.clone();
        let writing = tokio::spawn(async move {
            while changed.changed().await.is_ok() {
                let progress = *changed.borrow_and_update();
                publish(&writer, PublishedProgress::new(&progress, length, Some(SystemClock.now()))).await;
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Self { store: store.clone(), length, newest, writing }
    }

    /// Notes what has been done by now.
    pub(crate) fn publish(&self, progress: &ImportProgress) {
        self.newest.send_replace(*progress);
    }

    /// Marks the import as complete.
    pub(crate) async fn finish(self, done: &ImportProgress) {
        self.writing.abort();
        // A write that has begun must not follow the last one.
        let _ = self.writing.await;
        publish(&self.store, PublishedProgress::new(done, self.length, None)).await;
    }
}

async fn publish(store: &Store, progress: PublishedProgress) {
    if let Err(error) = progress.write(store).await {
        tracing::warn!(error = format!("{error:#}"), "cannot publish the progress of the import");
    }
}
