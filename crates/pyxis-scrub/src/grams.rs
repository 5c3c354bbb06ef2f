//! A filter that skims through text and stops where a form may stand unescaped.
//!
//! Every form contributes the grams (short blocks of up to four bytes) at its first `stride` offsets.
//! An occurrence of a form is then sure to show one of them when text is probed every `stride` bytes.
//! Unlike a shift table (Wu-Manber) no probe waits for the one before, so the processor overlaps them.

use std::cell::RefCell;

use zeroize::Zeroize;

use crate::forms::Forms;

const HEADS: usize = 4096;
/// For the hundreds of forms that a key in PEM has: most heads should be empty.
const MANY_HEADS: usize = 65_536;
/// Entries from which there are [`MANY_HEADS`].
const MANY: usize = 1024;
const MAX_STRIDE: usize = 16;
const GRAM: usize = 4;

/// A gram and where it stands: `offset` bytes into the form number `form`.
#[derive(Clone, Copy)]
struct Entry {
    gram: u32,
    form: u16,
    offset: u16,
    /// One more than the index of the next entry with the same hash; 0 ends the list.
    next: u16,
}

pub(crate) struct Grams {
    mask: u32,
    len: usize,
    stride: usize,
    /// One more than the index of the first entry with this hash; 0 is none. [`HEADS`] long, or [`MANY_HEADS`].
    heads: Box<[u16]>,
    entries: Vec<Entry>,
}

impl Grams {
    /// # Panics
    /// With more than 4,095 forms, which is more than 450 secrets in one request.
    pub(crate) fn of(forms: &Forms) -> Self {
        assert!(forms.len() * MAX_STRIDE < usize::from(u16::MAX), "too many secrets for one request");
        let shortest = forms.iter().map(|form| form.core).min().unwrap_or(GRAM);
        let len = shortest.midpoint(2).clamp(1, GRAM);
        let stride = (shortest + 1 - len).min(MAX_STRIDE);
        let heads = if stride * forms.len() < MANY {
            SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| empty(HEADS))
        } else {
            empty(MANY_HEADS)
        };
        let mut grams = Self {
            mask: u32::MAX >> (8 * (GRAM - len)),
            len,
            stride,
            heads,
            entries: Vec::with_capacity(stride * forms.len()),
        };
        for (index, form) in forms.iter().enumerate() {
            for offset in 0..stride {
                grams.insert(index, form.bytes, offset);
            }
        }
        grams
    }

    #[expect(clippy::cast_possible_truncation, reason = "`of` has checked the product")]
    fn insert(&mut self, form: usize, bytes: &[u8], offset: usize) {
        let gram = self.read(bytes, offset);
        let head = &mut self.heads[hash(gram, self.heads.len())];
        self.entries.push(Entry { gram, form: form as u16, offset: offset as u16, next: *head });
        *head = self.entries.len() as u16;
    }

    /// Reads the gram at `at`; what lies beyond the end counts as zero bytes.
    fn read(&self, text: &[u8], at: usize) -> u32 {
        let rest = &text[at..];
        let word = if let Some(word) = rest.first_chunk() {
            *word
        } else {
            let mut word = [0; GRAM];
            word[..rest.len()].copy_from_slice(rest);
            word
        };
        u32::from_le_bytes(word) & self.mask
    }

    /// Calls `found` with each pair (start in `text`, form number) whose grams agree.
    pub(crate) fn candidates(&self, text: &[u8], found: impl FnMut(usize, usize)) {
        // The length is known to the compiler, so that no probe checks it.
        if let Some(heads) = self.heads.first_chunk::<MANY_HEADS>() {
            return self.candidates_of(heads, text, found);
        }
        let heads: &[u16; HEADS] = self.heads.first_chunk().expect("`of` makes it of this length");
        self.candidates_of(heads, text, found);
    }

    fn candidates_of<const N: usize>(
        &self,
        heads: &[u16; N],
        text: &[u8],
        mut found: impl FnMut(usize, usize),
    ) {
        let mut at = 0;
        // Four probes at a time, one branch.
        let batch = 3 * self.stride + GRAM;
        while let Some(window) = text.get(at..at + batch) {
            let probe = |i: usize| {
                let start = i * self.stride;
                let word = window[start..start + GRAM].try_into().expect("four bytes were asked for");
                heads[hash(u32::from_le_bytes(word) & self.mask, N)]
            };
            if probe(0) | probe(1) | probe(2) | probe(3) != 0 {
                for i in 0..4 {
                    self.visit(text, at + i * self.stride, &mut found);
                }
            }
            at += 4 * self.stride;
        }
        while at + self.len <= text.len() {
            self.visit(text, at, &mut found);
            at += self.stride;
        }
    }

    fn visit(&self, text: &[u8], at: usize, found: &mut impl FnMut(usize, usize)) {
        let gram = self.read(text, at);
        let mut next = self.heads[hash(gram, self.heads.len())];
        while let Some(entry) = usize::from(next).checked_sub(1).map(|index| self.entries[index]) {
            next = entry.next;
            if entry.gram == gram
                && let Some(start) = at.checked_sub(usize::from(entry.offset))
            {
                found(start, usize::from(entry.form));
            }
        }
    }
}

/// Multiplicative hashing to the bits of an index into `heads`, of which there are [`HEADS`] or [`MANY_HEADS`].
fn hash(gram: u32, heads: usize) -> usize {
    let product = gram.wrapping_mul(0x9e37_79b1);
    (if heads == HEADS { product >> (32 - HEADS.ilog2()) } else { product >> (32 - MANY_HEADS.ilog2()) })
        as usize
}

/// A table is built for each request, and a wiped one is as good as new.
const SPARES: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Box<[u16]>>> = const { RefCell::new(Vec::new()) };
}

fn empty(heads: usize) -> Box<[u16]> {
    vec![0; heads].into_boxed_slice()
}

impl Drop for Grams {
    fn drop(&mut self) {
        for entry in &mut self.entries {
            // Every head that was set was set for an entry.
            self.heads[hash(entry.gram, self.heads.len())].zeroize();
            entry.gram.zeroize();
        }
        if self.heads.len() != HEADS {
            return;
        }
        // No spares on a thread that ends.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARES {
                spare.push(std::mem::take(&mut self.heads));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_of_every_length_is_a_candidate_at_every_offset() {
        for len in 1..40 {
            let secret: Vec<u8> = (0..len).map(|i| b'A' + i).collect();
            let forms = Forms::derive(&[&secret]);
            let grams = Grams::of(&forms);
            for offset in 0..100 {
                let mut text = vec![b'.'; 160];
                text[offset..offset + secret.len()].copy_from_slice(&secret);
                text.truncate(offset + secret.len() + offset % 7);
                let mut seen = false;
                grams.candidates(&text, |start, form| seen |= start == offset && form == 0);
                assert!(seen, "length {len}, offset {offset}");
            }
        }
    }
}
