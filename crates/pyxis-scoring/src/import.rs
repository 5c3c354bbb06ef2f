//! Bulk import of credentials, one JSON object on each line.
//!
//! Lines are read in blocks; threads check signatures, one transaction stores a block. Blocks are stored
//! in the order of the file, so that an interrupted import goes on where it stopped, and memory does not
//! depend on the length of the file. Running an import twice changes nothing.

mod lines;
mod pipeline;

use std::io::{BufRead, Write};

use pyxis_core::clock::Clock;
use pyxis_core::id::WorkspaceId;
use pyxis_store::{Committing, issuers};
use serde::{Deserialize, Serialize};

use crate::books::Books;
use crate::credential::{Keys, Verified};
use crate::engine::{self, Outcome};
use crate::error::{BoxError, Error, Result};
use pipeline::{Block, Checked, Trust};

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
/// and ends the import by answering `false`: with the block that is on its way then.
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
    let mut before: Option<Stored> = None;
    let mut goes_on = true;
    while goes_on && let Some(block) = blocks.next().await {
        let stored = match block {
            Ok(block) => store(books, clock, options.workspace, block).await,
            Err(error) => Err(failed(error)),
        };
        // The disk worked on one block while the next was stored.
        if let Some(before) = before.take() {
            before.finish(rejects, &mut done).await?;
            goes_on = progress(&done);
        }
        before = Some(stored?);
    }
    if let Some(last) = before {
        last.finish(rejects, &mut done).await?;
        progress(&done);
    }
    Ok(done)
}

/// A block that is in the database, and perhaps not durable yet.
struct Stored {
    /// The lines that were believed.
    numbers: Vec<u64>,
    /// What became of them.
    outcomes: Vec<Outcome>,
    /// The others: number, code, reason.
    refused: Vec<(u64, &'static str, String)>,
    end_line: u64,
    end_byte: u64,
    committing: Committing,
}

async fn store(
    books: &Books,
    clock: &dyn Clock,
    workspace: WorkspaceId,
    block: Block<Checked>,
) -> Result<Stored> {
    let (mut numbers, mut believed): (Vec<u64>, Vec<Verified>) = (Vec::new(), Vec::new());
    let mut refused = Vec::new();
    for (line, checked) in block.items {
        match checked {
            Ok(verified) => {
                numbers.push(line);
                believed.push(*verified);
            }
            Err(rejection) => refused.push((line, rejection.code(), rejection.to_string())),
        }
    }
    let (outcomes, committing) = engine::ingest_many(books, workspace, &believed, clock.now()).await?;
    let Block { end_line, end_byte, .. } = block;
    Ok(Stored { numbers, outcomes, refused, end_line, end_byte, committing })
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
