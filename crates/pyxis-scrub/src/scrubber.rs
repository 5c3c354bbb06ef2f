//! Replaces secrets in a stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use crate::needles::Needles;

/// What one chunk became: slices of it, and replacements between them.
pub type Pieces = SmallVec<[Bytes; 4]>;

/// Text held back is joined with this much of the next chunk, not with all of it.
const SEAM: usize = 1024;

/// Replaces secrets in a stream of chunks, wherever the chunks are cut.
///
/// Text without a secret passes without a copy. Only a tail that may be the start of a secret is held
/// back until the next chunk, so an event stream is not delayed. The concatenated output does not
/// depend on how the input was cut. (One exception: with a secret of many backslashes in text of many
/// backslashes the search is given up, and all of the chunk from there on is replaced.)
pub struct Scrubber {
    needles: Arc<Needles>,
    tag: Option<Bytes>,
    /// Held back: may be the start of a secret.
    tail: Bytes,
    /// When a replaced stretch reaches into the tail or up to it: how far. What matches there belongs
    /// to that stretch, whose replacement is out already.
    replaced: Option<usize>,
    hits: u64,
}

impl Scrubber {
    /// Starts at the beginning of a body.
    pub fn new(needles: Arc<Needles>) -> Self {
        Self { needles, tag: None, tail: Bytes::new(), replaced: None, hits: 0 }
    }

    /// Takes the next chunk of the body and returns what may go out. Never contains empty pieces.
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

    /// Ends the body and returns what was held back. Afterwards a new body can start.
    pub fn finish(&mut self) -> Pieces {
        let mut pieces = Pieces::new();
        let tail = std::mem::take(&mut self.tail);
        self.scan(&tail, true, &mut pieces);
        self.replaced = None;
        pieces
    }

    /// How many stretches were replaced so far. Secrets that overlap or touch count as one.
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
