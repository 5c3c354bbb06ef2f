//! Bulk import of credentials, one JSON object per line.
//!
//! Lines are read in blocks. Threads check signatures, and usually one transaction stores a block. Blocks are stored in
//! file order, so an interrupted import resumes where it stopped, and memory use does not depend on the file size.
//! Running an import twice changes nothing.

mod lines;
mod pipeline;

use std::io::{BufRead, Write};

use pyxis_core::clock::Clock;
use pyxis_core::id::WorkspaceId;
use pyxis_core::score::SigningDigest;
use pyxis_store::{Committing, issuers};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::engine::{self, IngestOutcome};
use crate::error::{Error, Result};
use crate::scoring_db::ScoringDb;
use pipeline::{Blocks, FileBlock, Lines, RejectedLine, Trust};

/// Maximum number of stored blocks that wait to become durable.
const AHEAD: usize = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportProgress {
    /// Lines read, including blank ones.
    pub lines: u64,
    /// Bytes read: the offset to resume from.
    pub bytes: u64,
    /// Credentials stored.
    pub accepted: u64,
    /// Credentials that replaced older ones.
    pub replaced: u64,
    /// Credentials that were already stored.
    pub unchanged: u64,
    /// Lines that were refused.
    pub rejected: u64,
    /// The last credential that was stored or already there. An import resumes only while it is still stored.
    #[serde(default)]
    pub last: Option<SigningDigest>,
}

/// A refused line, as reported.
#[derive(Serialize)]
struct Reject<'a> {
    line: u64,
    code: &'a str,
    detail: &'a str,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Workspace that receives the Stamps.
    pub workspace: WorkspaceId,
    /// Threads that check signatures.
    pub threads: usize,
}

/// Imports credentials from `source`, from the beginning or from the position in `begun`. Refused lines go to `rejects`
/// as JSON. `progress` is called for every block once it is durable. It ends the import by returning `false`; blocks
/// already on their way are still stored.
pub async fn import(
    db: &ScoringDb,
    clock: &dyn Clock,
    options: Options,
    source: impl BufRead + Send + 'static,
    rejects: &mut (dyn Write + Send),
    begun: ImportProgress,
    mut progress: impl FnMut(&ImportProgress) -> bool,
) -> Result<ImportProgress> {
    let trusted = issuers::list(&**db, options.workspace).await?;
    let issuers = trusted.into_iter().map(|issuer| issuer.did).collect();
    let trust = Trust { workspace: options.workspace, issuers, now: clock.now() };
    let blocks = pipeline::start(source, begun, trust, options.threads)
        .map_err(|error| Error::Internal(error.into()))?;
    let (stored, waiting) = mpsc::channel(AHEAD);
    let storing = store_each(db, clock, blocks, stored);
    let (end, done) = tokio::join!(storing, tell_each(waiting, rejects, begun, &mut progress));
    done.and_then(|done| end.map(|()| done))
}

/// Stores blocks in file order while the receiver listens.
async fn store_each(
    db: &ScoringDb,
    clock: &dyn Clock,
    mut blocks: Blocks,
    stored: mpsc::Sender<Stored>,
) -> Result<()> {
    while let Ok(room) = stored.reserve().await
        && let Some(block) = blocks.next().await
    {
        let FileBlock { content: Lines { numbers, batch, refused }, end_line, end_byte, .. } =
            block.map_err(|error| Error::Internal(error.into()))?;
        let digests = batch.digests().to_vec();
        let (outcomes, committing) = engine::ingest_many(db, batch, clock.now()).await?;
        room.send(Stored { numbers, digests, outcomes, refused, end_line, end_byte, committing });
    }
    Ok(())
}

/// Reports each block's result once it is durable; the next blocks are stored meanwhile.
async fn tell_each(
    mut stored: mpsc::Receiver<Stored>,
    rejects: &mut (dyn Write + Send),
    begun: ImportProgress,
    progress: &mut impl FnMut(&ImportProgress) -> bool,
) -> Result<ImportProgress> {
    let mut done = begun;
    while let Some(block) = stored.recv().await {
        block.finish(rejects, &mut done).await?;
        if !progress(&done) {
            stored.close();
        }
    }
    Ok(done)
}

/// A stored block that may not be durable yet.
struct Stored {
    /// Line numbers of the accepted credentials.
    numbers: Vec<u64>,
    digests: Vec<SigningDigest>,
    outcomes: Vec<IngestOutcome>,
    refused: Vec<RejectedLine>,
    end_line: u64,
    end_byte: u64,
    committing: Committing,
}

impl Stored {
    /// Waits until the block is durable, counts the outcomes and reports refused lines.
    async fn finish(self, rejects: &mut (dyn Write + Send), done: &mut ImportProgress) -> Result<()> {
        self.committing.await?;
        let mut refused = self.refused;
        for ((line, digest), outcome) in self.numbers.into_iter().zip(self.digests).zip(self.outcomes) {
            if matches!(outcome, IngestOutcome::Accepted | IngestOutcome::Replaced | IngestOutcome::Unchanged)
            {
                done.last = Some(digest);
            }
            match outcome {
                IngestOutcome::Accepted => done.accepted += 1,
                IngestOutcome::Replaced => done.replaced += 1,
                IngestOutcome::Unchanged => done.unchanged += 1,
                IngestOutcome::Superseded => {
                    refused.push((
                        line,
                        "superseded",
                        "a credential that was issued later is already stored".to_owned(),
                    ));
                }
                IngestOutcome::Revoked => {
                    refused.push((line, "revoked", "its issuer revoked this credential".to_owned()));
                }
            }
        }
        refused.sort_by_key(|(line, ..)| *line);
        for (line, code, detail) in &refused {
            let text = serde_json::to_string(&Reject { line: *line, code, detail })
                .map_err(|error| Error::Internal(error.into()))?;
            writeln!(rejects, "{text}").map_err(|error| Error::Internal(error.into()))?;
        }
        rejects.flush().map_err(|error| Error::Internal(error.into()))?;
        done.rejected += refused.len() as u64;
        (done.lines, done.bytes) = (self.end_line, self.end_byte);
        Ok(())
    }
}
