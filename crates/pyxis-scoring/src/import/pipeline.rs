//! Reads and checks on separate threads; returns blocks in file order.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str;
use std::sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc};
use std::thread;

use pyxis_core::clock::UnixMillis;
use pyxis_core::id::WorkspaceId;
use tokio::sync::mpsc;

use super::{ImportProgress, lines};
use crate::credential::{self, Rejection, VerifiedCredential};
use crate::engine::Batch;

/// Lines per block. One transaction stores a block: large enough to share the cost of making it durable and of changing
/// an index page.
const BLOCK: usize = 1024;
/// Bytes of the file after which a block ends early.
const BLOCK_BYTES: u64 = 4 * 1024 * 1024;
/// Mark that some programs write before the first byte of a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A piece of the file.
pub(super) struct FileBlock<T> {
    /// Block number, from 0.
    number: u64,
    pub(super) content: T,
    /// Lines and bytes of the file up to the block's end.
    pub(super) end_line: u64,
    pub(super) end_byte: u64,
}

/// Lines that were not checked yet.
#[derive(Default)]
struct Unread {
    text: Vec<u8>,
    /// The number of each line, from 1, and its range in the text.
    lines: Vec<(u64, Range<usize>)>,
}

/// Checked lines.
pub(super) struct Lines {
    /// Numbers of the accepted lines.
    pub(super) numbers: Vec<u64>,
    /// Their credentials, ready to store.
    pub(super) batch: Batch,
    pub(super) refused: Vec<RejectedLine>,
}

/// A refused line: its number, a code and a reason.
pub(super) type RejectedLine = (u64, &'static str, String);

/// Blocks whose signatures are being checked.
pub(super) struct Blocks {
    checked: mpsc::Receiver<io::Result<FileBlock<Lines>>>,
    /// Blocks that finished early; at most one per thread.
    early: BTreeMap<u64, FileBlock<Lines>>,
    next: u64,
}

/// Settings for checking credentials.
pub(super) struct Trust {
    /// Workspace that receives the credentials.
    pub(super) workspace: WorkspaceId,
    /// DIDs of the trusted issuers.
    pub(super) issuers: HashSet<String>,
    pub(super) now: UnixMillis,
}

/// Starts the threads, at least one that checks. They end with the source, or when no one receives blocks any more.
pub(super) fn start(
    source: impl BufRead + Send + 'static,
    begun: ImportProgress,
    trust: Trust,
    threads: usize,
) -> io::Result<Blocks> {
    let threads = threads.max(1);
    let (read, unread) = std_mpsc::sync_channel(threads);
    let (check, checked) = mpsc::channel(threads);
    let failed = check.clone();
    thread::Builder::new().name("stamps-read".to_owned()).spawn(move || {
        if let Err(error) = read_blocks(source, begun, &read) {
            // Fine if no one listens any more.
            let _ = failed.blocking_send(Err(error));
        }
    })?;
    let (unread, trust) = (Arc::new(Mutex::new(unread)), Arc::new(trust));
    for _ in 0..threads {
        let (unread, trust, check) = (Arc::clone(&unread), Arc::clone(&trust), check.clone());
        thread::Builder::new().name("stamps-check".to_owned()).spawn(move || {
            loop {
                let block = unread.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(block) = block else { return };
                // Otherwise the block would be missing without notice.
                let checked = catch_unwind(AssertUnwindSafe(|| check_block(block, &trust)))
                    .map_err(|_| io::Error::other("a bug: checking the credentials panicked"));
                if check.blocking_send(checked).is_err() {
                    return;
                }
            }
        })?;
    }
    Ok(Blocks { checked, early: BTreeMap::new(), next: 0 })
}

impl Blocks {
    pub(super) async fn next(&mut self) -> Option<io::Result<FileBlock<Lines>>> {
        loop {
            if let Some(block) = self.early.remove(&self.next) {
                self.next += 1;
                return Some(Ok(block));
            }
            match self.checked.recv().await? {
                Ok(block) => drop(self.early.insert(block.number, block)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn read_blocks(
    mut source: impl BufRead,
    begun: ImportProgress,
    blocks: &std_mpsc::SyncSender<FileBlock<Unread>>,
) -> io::Result<()> {
    let (mut line_number, mut byte) = (begun.lines, begun.bytes);
    for number in 0.. {
        let end = byte.saturating_add(BLOCK_BYTES);
        let mut unread = Unread::default();
        let mut ended = false;
        while unread.lines.len() < BLOCK && byte < end && !ended {
            let taken = unread.read(&mut source, line_number + 1)?;
            ended = taken == 0;
            line_number += u64::from(!ended);
            byte += taken;
        }
        let block = FileBlock { number, content: unread, end_line: line_number, end_byte: byte };
        if blocks.send(block).is_err() || ended {
            return Ok(());
        }
    }
    Ok(())
}

impl Unread {
    /// Reads the line of a number, unless it is blank. Returns the number of file bytes consumed, 0 at the end.
    fn read(&mut self, source: &mut impl BufRead, number: u64) -> io::Result<u64> {
        let begin = self.text.len();
        let taken = lines::read(source, &mut self.text)?;
        let mut line = &self.text[begin..];
        // Do not strip a truncated line: it must stay too long.
        if number == 1 && line.len() < lines::TOO_LONG {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if !line.trim_ascii().is_empty() {
            self.lines.push((number, self.text.len() - line.len()..self.text.len()));
        }
        Ok(taken)
    }
}

fn check_block(block: FileBlock<Unread>, trust: &Trust) -> FileBlock<Lines> {
    let FileBlock { number, content, end_line, end_byte } = block;
    let Unread { text, lines } = content;
    let (mut numbers, mut trusted) = (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
    let mut refused = Vec::new();
    for (line, place) in lines {
        match check(&text[place], trust) {
            Ok(verified) => {
                numbers.push(line);
                trusted.push(verified);
            }
            Err(rejection) => refused.push((line, rejection.code(), rejection.to_string())),
        }
    }
    drop(text);
    let content = Lines { numbers, batch: Batch::prepare(trust.workspace, trusted, trust.now), refused };
    FileBlock { number, content, end_line, end_byte }
}

fn check(line: &[u8], trust: &Trust) -> Result<VerifiedCredential, Rejection> {
    let not_text =
        |error: str::Utf8Error| Rejection::MalformedJson { line: 1, column: error.valid_up_to() + 1 };
    let text = str::from_utf8(line.trim_ascii()).map_err(not_text)?;
    credential::parse_and_verify_for_its_subject(text, trust.now, |did| trust.issuers.contains(did))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a block with their numbers, and the line and the byte at which it ends.
    type BlockSummary = (Vec<(u64, String)>, u64, u64);

    /// The blocks of a file from the import's position.
    fn blocks(text: &str, begun: ImportProgress) -> Vec<BlockSummary> {
        let (send, receive) = std_mpsc::sync_channel(100);
        let rest = &text.as_bytes()[usize::try_from(begun.bytes).unwrap()..];
        read_blocks(rest, begun, &send).unwrap();
        drop(send);
        let lines = |Unread { text, lines }: Unread| {
            let line = |(number, place): (u64, Range<usize>)| {
                (number, String::from_utf8(text[place].to_owned()).unwrap())
            };
            lines.into_iter().map(line).collect()
        };
        receive.into_iter().map(|block| (lines(block.content), block.end_line, block.end_byte)).collect()
    }

    #[test]
    fn a_file_is_read_in_blocks_of_bounded_size_from_wherever_one_ended() {
        let long = "x".repeat(3 * 1024 * 1024);
        let short = "y".repeat(1000);
        let mut text = format!("\u{feff}first\n\n \n{long}\n{long}\nnext\n");
        text.extend((0..1500).map(|number| format!("{short}{number}\n")));
        text.push_str("\n\nend");
        let all = blocks(&text, ImportProgress::default());
        let ends: Vec<_> = all.iter().map(|(_, line, byte)| (*line, *byte)).collect();
        let counts: Vec<_> = all.iter().map(|(lines, ..)| lines.len()).collect();
        assert_eq!(counts, [3, 1024, 478]);
        assert_eq!(ends[0], (5, 6 * 1024 * 1024 + 14));
        assert_eq!(ends.last(), Some(&(1509, text.len() as u64)));
        assert_eq!(all[0].0[0], (1, "first".to_owned()));
        assert_eq!((all[0].0[1].0, all[0].0[1].1.len()), (4, lines::TOO_LONG));
        assert_eq!(all[1].0[0], (6, "next".to_owned()));
        assert_eq!(all[2].0.last(), Some(&(1509, "end".to_owned())));
        for (index, (lines, bytes)) in ends.into_iter().enumerate() {
            let begun = ImportProgress { lines, bytes, ..ImportProgress::default() };
            let rest = blocks(&text, begun);
            assert_eq!(rest[..all.len() - index - 1], all[index + 1..]);
        }
    }
}
