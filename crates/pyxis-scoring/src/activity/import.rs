//! Files of activity into the database, chunk by chunk: an interrupted import goes on behind the last one.

use pyxis_core::clock::UnixMillis;
use pyxis_models::chunk;
use pyxis_models::graph::Builder;
use pyxis_models::reading::{ActivityRecord, Layout, Moved, Reader};
use pyxis_store::Store;
use pyxis_store::activity::{self, Chunk, ImportRow};
use tokio::sync::mpsc;

use super::ActivityError;

/// Lines of a chunk.
const LINES: i64 = 65_536;
/// Chunks that wait to be stored while the next is read.
const AHEAD: usize = 2;
/// Refused lines that are named.
const NAMED: usize = 20;

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Lines of the file, those of an earlier run among them.
    pub lines: i64,
    /// Of those, taken.
    pub accepted: i64,
    /// Of those, refused.
    pub rejected: i64,
    /// The first lines that were refused in this run, and why.
    pub rejects: Vec<(i64, String)>,
    /// Transfers that were taken in this run and have no time.
    pub without_time: i64,
    /// True if there was anything to do.
    pub new: bool,
    /// Which columns of the file are read, and which are not.
    pub layout: Layout,
}

/// What was read together.
struct Batch {
    data: Vec<u8>,
    lines: i64,
    accepted: i64,
    rejected: i64,
    rejects: Vec<(i64, String)>,
    without_time: i64,
}

/// Reads a file that is named by `source`, the SHA-256 of its bytes. A file that was read before is left
/// alone. `report` is told how many lines are stored. What models see changes with [`super::rebuild`].
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

/// Cuts the lines behind the first `skip` into batches.
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
