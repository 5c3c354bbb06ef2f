//! Bulk import of credentials, one JSON object on each line.
//!
//! Lines are read in blocks; threads check signatures, one transaction stores a block. Blocks are stored
//! in the order of the file, so that an interrupted import goes on where it stopped, and memory does not
//! depend on the length of the file. Running an import twice changes nothing.

mod lines;
mod pipeline;

use std::collections::VecDeque;
use std::io::{BufRead, Write};

use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::id::WorkspaceId;
use pyxis_store::{Committing, issuers};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::books::Books;
use crate::credential::Keys;
use crate::engine::{self, Batch, Outcome};
use crate::error::{BoxError, Error, Result};
use pipeline::{Block, Checked, Trust};

/// Blocks that may be stored and not yet durable.
const AHEAD: usize = 4;

/// What an import did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Lines read, blank ones too.
    pub lines: u64,
    /// Bytes read: where to go on.
    pub bytes: u64,
    /// Credentials stored.
    pub accepted: u64,
    /// Credentials that took the place of older ones.
    pub replaced: u64,
    /// Credentials that were there already.
    pub unchanged: u64,
    /// Lines that were refused.
    pub rejected: u64,
}

/// A refused line, as it is reported.
#[derive(Serialize)]
struct Reject<'a> {
    line: u64,
    code: &'a str,
    detail: &'a str,
}

/// What an import needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Where the Stamps go.
    pub workspace: WorkspaceId,
    /// Threads that check signatures.
    pub threads: usize,
}

/// Reads credentials from `source`, from the beginning or from where `begun` says that it stands, and
/// stores them; refused lines go to `rejects` as JSON. `progress` is told of every block once it is durable,
/// and ends the import by answering `false`: with the blocks that are on their way then.
pub async fn import(
    books: &Books,
    clock: &dyn Clock,
    options: Options,
    source: impl BufRead + Send + 'static,
    rejects: &mut (dyn Write + Send),
    begun: Progress,
    mut progress: impl FnMut(&Progress) -> bool,
) -> Result<Progress> {
    let trusted = issuers::list(&**books, options.workspace).await?;
    let issuers = trusted.into_iter().map(|issuer| issuer.did).collect();
    let trust = Trust { issuers, keys: Keys::default(), now: clock.now() };
    let failed = |error| Error::Internal(BoxError::from(error));
    let mut blocks = pipeline::start(source, begun, trust, options.threads).map_err(failed)?;
    let mut done = begun;
    let mut storing: Option<JoinHandle<Result<Stored>>> = None;
    let mut waiting = VecDeque::with_capacity(AHEAD + 1);
    let end = loop {
        let block = match blocks.next().await {
            Some(Ok(block)) => Ready::of(block, options.workspace, clock.now()),
            Some(Err(error)) => break Err(failed(error)),
            None => break Ok(()),
        };
        // One at a time, in the order of the file; the next was made ready meanwhile.
        match stored(storing.take()).await {
            Ok(before) => waiting.extend(before),
            Err(error) => break Err(error),
        }
        storing = Some(tokio::spawn(block.store(books.clone())));
        let mut goes_on = true;
        while waiting.len() > AHEAD
            && let Some(first) = waiting.pop_front()
        {
            first.finish(rejects, &mut done).await?;
            goes_on &= progress(&done);
        }
        if !goes_on {
            break Ok(());
        }
    };
    let last = stored(storing).await;
    let end = end.and(last.map(|last| waiting.extend(last)));
    for block in waiting {
        block.finish(rejects, &mut done).await?;
        progress(&done);
    }
    end.map(|()| done)
}

/// What became of the block that is being stored, if one is.
async fn stored(storing: Option<JoinHandle<Result<Stored>>>) -> Result<Option<Stored>> {
    let Some(storing) = storing else { return Ok(None) };
    storing.await.map_err(|error| Error::Internal(error.into()))?.map(Some)
}

/// A block that is going to be stored.
struct Ready {
    /// The lines that were believed.
    numbers: Vec<u64>,
    /// What stands there.
    batch: Batch,
    /// The others: number, code, reason.
    refused: Vec<(u64, &'static str, String)>,
    end_line: u64,
    end_byte: u64,
}

/// A block that is in the database, and perhaps not durable yet.
struct Stored {
    numbers: Vec<u64>,
    /// What became of them.
    outcomes: Vec<Outcome>,
    refused: Vec<(u64, &'static str, String)>,
    end_line: u64,
    end_byte: u64,
    committing: Committing,
}

impl Ready {
    fn of(block: Block<Checked>, workspace: WorkspaceId, now: UnixMillis) -> Self {
        let Block { items, end_line, end_byte, .. } = block;
        let (mut numbers, mut believed) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        let mut refused = Vec::new();
        for (line, checked) in items {
            match checked {
                Ok(verified) => {
                    numbers.push(line);
                    believed.push(*verified);
                }
                Err(rejection) => refused.push((line, rejection.code(), rejection.to_string())),
            }
        }
        let batch = Batch::of(workspace, believed, now);
        Self { numbers, batch, refused, end_line, end_byte }
    }

    async fn store(self, books: Books) -> Result<Stored> {
        let Self { numbers, batch, refused, end_line, end_byte } = self;
        let (outcomes, committing) = engine::ingest_many(&books, batch).await?;
        Ok(Stored { numbers, outcomes, refused, end_line, end_byte, committing })
    }
}

impl Stored {
    /// Waits until it is durable, counts what became of it and reports what was refused.
    async fn finish(self, rejects: &mut (dyn Write + Send), done: &mut Progress) -> Result<()> {
        self.committing.await?;
        let mut refused = self.refused;
        for (line, outcome) in self.numbers.into_iter().zip(self.outcomes) {
            match outcome {
                Outcome::Accepted => done.accepted += 1,
                Outcome::Replaced => done.replaced += 1,
                Outcome::Unchanged => done.unchanged += 1,
                Outcome::Superseded => {
                    refused.push((
                        line,
                        "superseded",
                        "a credential issued later is there already".to_owned(),
                    ));
                }
                Outcome::Revoked => {
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
