//! Replaces secrets in a stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use crate::needles::Needles;

/// Output for one chunk: slices of it, with replacements between them.
pub type Pieces = SmallVec<[Bytes; 4]>;

/// Bytes of the next chunk that are joined with held-back text, to avoid joining all of it.
const SEAM: usize = 1024;

/// Replaces secrets in a stream of chunks, wherever the chunks are cut.
///
/// Text without a secret passes without a copy. Only a tail that may be the start of a secret is held back until the
/// next chunk, so an event stream is not delayed. The concatenated output does not depend on how the input was cut.
/// There is one exception: if both secret and text have many backslashes, the search gives up, and the rest of the
/// chunk is replaced.
pub struct Scrubber {
    needles: Arc<Needles>,
    tag: Option<Bytes>,
    /// Held-back text that may be the start of a secret.
    tail: Bytes,
    /// Offset up to which the last replaced range extends into the tail, if it reaches the tail. Matches up to there
    /// belong to that range, whose replacement was already sent.
    replaced: Option<usize>,
    hits: u64,
}

impl Scrubber {
    /// Starts at the beginning of a body.
    pub fn new(needles: Arc<Needles>) -> Self {
        Self { needles, tag: None, tail: Bytes::new(), replaced: None, hits: 0 }
    }

    /// Consumes the next chunk of the body and returns the output, without empty pieces.
    pub fn push(&mut self, mut chunk: Bytes) -> Pieces {
        let mut pieces = Pieces::new();
        while !self.tail.is_empty() && !chunk.is_empty() {
            let head = chunk.split_to(chunk.len().min(SEAM.max(self.tail.len())));
            let mut window = BytesMut::with_capacity(self.tail.len() + head.len());
            window.extend_from_slice(&self.tail);
            window.extend_from_slice(&head);
            self.scan(&window.freeze(), false, &mut pieces);
        }
        if !chunk.is_empty() {
            self.scan(&chunk, false, &mut pieces);
        }
        pieces
    }

    /// Ends the body and returns the held-back text. Afterwards a new body can start.
    pub fn finish(&mut self) -> Pieces {
        let mut pieces = Pieces::new();
        let tail = std::mem::take(&mut self.tail);
        self.scan(&tail, true, &mut pieces);
        self.replaced = None;
        pieces
    }

    /// Number of ranges replaced so far. Secrets that overlap or touch count as one.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    fn scan(&mut self, window: &Bytes, last: bool, pieces: &mut Pieces) {
        let found = self.needles.matcher().find(window, last);
        let mut replaced = self.replaced.take();
        for &(start, end) in found.spans.iter().take_while(|(start, _)| *start < found.hold) {
            if let Some(until) = replaced.filter(|until| start <= *until) {
                replaced = Some(until.max(end));
                continue;
            }
            push_slice(pieces, window, replaced.unwrap_or(0), start);
            pieces.push(self.tag());
            self.hits += 1;
            replaced = Some(end);
        }
        push_slice(pieces, window, replaced.unwrap_or(0), found.hold);
        self.replaced = replaced.and_then(|until| until.checked_sub(found.hold));
        self.tail = window.slice(found.hold..);
    }

    fn tag(&mut self) -> Bytes {
        self.tag.get_or_insert_with(|| self.needles.tag().into()).clone()
    }
}

fn push_slice(pieces: &mut Pieces, window: &Bytes, start: usize, end: usize) {
    if start < end {
        pieces.push(window.slice(start..end));
    }
}
