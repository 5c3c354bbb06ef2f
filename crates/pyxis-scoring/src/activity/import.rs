//! Imports activity files into the database in chunks. An interrupted import resumes after the last stored chunk.

use pyxis_core::clock::UnixMillis;
use pyxis_models::activity_reader::{ActivityRecord, Layout, Moved, Reader};
use pyxis_models::chunk;
use pyxis_models::graph::Builder;
use pyxis_store::Store;
use pyxis_store::activity::{self, Chunk, ImportRow};
use tokio::sync::mpsc;

use super::ActivityError;

/// Lines per chunk.
const LINES: i64 = 65_536;
/// Chunks that wait to be stored while the next is read.
const AHEAD: usize = 2;
/// Maximum number of refused lines reported.
const NAMED: usize = 20;

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Lines of the file, including those of an earlier run.
    pub lines: i64,
    /// Accepted lines.
    pub accepted: i64,
    /// Refused lines.
    pub rejected: i64,
    /// The first lines refused in this run, with the reasons.
    pub rejects: Vec<(i64, String)>,
    /// Transfers accepted in this run that have no time.
    pub without_time: i64,
    /// True if there was anything to do.
    pub new: bool,
    /// The file's columns: those that are read and those that are ignored.
    pub layout: Layout,
}

/// Lines that were read together.
struct Batch {
    data: Vec<u8>,
    lines: i64,
    accepted: i64,
    rejected: i64,
    rejects: Vec<(i64, String)>,
    without_time: i64,
}

/// Imports a file named by `source`, the SHA-256 of its bytes. A file that was imported before is skipped. `report`
/// receives the number of stored lines. [`super::rebuild`] then updates the features.
pub async fn import(
    store: &Store,
    source: &str,
    name: &str,
    reader: Reader,
    now: UnixMillis,
    mut report: impl FnMut(i64),
) -> Result<Imported, ActivityError> {
    let begun = activity::begin_import(store, source, name, now).await?;
    let ImportRow { lines, accepted, rejected, finished_at, .. } = begun;
    let mut done = Imported {
        lines,
        accepted,
        rejected,
        rejects: Vec::new(),
        without_time: 0,
        new: finished_at.is_none(),
        layout: reader.layout().clone(),
    };
    if !done.new {
        return Ok(done);
    }
    let (sender, mut batches) = mpsc::channel(AHEAD);
    let reading = tokio::task::spawn_blocking(move || read(reader, lines, &sender));
    while let Some(batch) = batches.recv().await {
        let Batch { data, lines, accepted, rejected, rejects, without_time } = batch;
        let number = done.lines / LINES;
        let lines_before = done.lines;
        let chunk =
            Chunk { source: source.to_owned(), number, lines_before, lines, accepted, rejected, data };
        if !activity::append(store, chunk).await? {
            return Err(ActivityError::Overtaken);
        }
        done.lines += lines;
        done.accepted += accepted;
        done.rejected += rejected;
        done.without_time += without_time;
        let room = NAMED.saturating_sub(done.rejects.len());
        done.rejects.extend(rejects.into_iter().take(room));
        report(done.lines);
    }
    reading.await.map_err(|_| ActivityError::Stopped)??;
    activity::finish_import(store, source, now).await?;
    Ok(done)
}

/// Splits the lines after the first `skip` into batches.
fn read(mut reader: Reader, skip: i64, batches: &mpsc::Sender<Batch>) -> Result<(), pyxis_models::Error> {
    reader.pass_over(u64::try_from(skip).unwrap_or(0))?;
    let heading = reader.heading();
    let mut number = skip;
    loop {
        let mut builder = Builder::default();
        let (mut lines, mut rejected, mut rejects, mut without_time) = (0, 0, Vec::new(), 0);
        for line in reader.by_ref().take(usize::try_from(LINES).unwrap_or(usize::MAX)) {
            lines += 1;
            number += 1;
            match line? {
                Ok(record) => {
                    without_time +=
                        i64::from(matches!(record, ActivityRecord::Transfer(Moved { time: None, .. })));
                    builder.add_record(record);
                }
                Err(why) => {
                    rejected += 1;
                    if rejects.len() < NAMED {
                        rejects.push((number + heading, why));
                    }
                }
            }
        }
        if lines == 0 {
            return Ok(());
        }
        let data = chunk::encode(&builder);
        let batch = Batch { data, lines, accepted: lines - rejected, rejected, rejects, without_time };
        if batches.blocking_send(batch).is_err() {
            return Ok(());
        }
    }
}
