//! A fast filter that skips through text and stops where an unescaped form may be.
//!
//! Every form contributes the grams (short blocks of up to four bytes) at its first `stride` offsets. Probing the text
//! every `stride` bytes is then certain to hit one of them in each occurrence. Unlike with a shift table (Wu-Manber),
//! no probe depends on the previous one, so the processor overlaps them.

use std::cell::RefCell;
use std::ops::Range;

use smallvec::SmallVec;
use zeroize::Zeroize;

use crate::secret_variants::Forms;

const HEADS: usize = 4096;
/// Table size for the hundreds of forms of a PEM key, chosen so that most heads are empty.
const MANY_HEADS: usize = 65_536;
/// Number of entries from which [`MANY_HEADS`] is used.
const MANY: usize = 1024;
const MAX_STRIDE: usize = 16;
const GRAM: usize = 4;
/// Maximum number of forms in one table, because entries are numbered with 16 bits.
const MAX_TABLE: usize = (u16::MAX as usize - 1) / MAX_STRIDE;

/// A gram and its position: `offset` bytes into form number `form`, counted from the table's first form.
#[derive(Clone, Copy)]
struct GramEntry {
    gram: u32,
    form: u16,
    offset: u16,
    /// Index of the next entry with the same hash plus one; 0 ends the list.
    next: u16,
}

/// Tables of all forms. There is one unless the secrets alone have more forms than [`MAX_TABLE`].
pub(crate) struct Grams(SmallVec<[Table; 1]>);

impl Grams {
    pub(crate) fn build(forms: &Forms) -> Self {
        let starts = (0..forms.len()).step_by(MAX_TABLE);
        Self(starts.map(|start| Table::build(forms, start..forms.len().min(start + MAX_TABLE))).collect())
    }

    /// Calls `found` with each pair of start in `text` and form number whose grams agree.
    pub(crate) fn candidates(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        for table in &self.0 {
            table.candidates(text, &mut found);
        }
    }
}

struct Table {
    /// Number of the table's first form.
    base: usize,
    mask: u32,
    len: usize,
    stride: usize,
    /// Index of the first entry with this hash plus one; 0 means none. Length [`HEADS`] or [`MANY_HEADS`].
    heads: Box<[u16]>,
    entries: Vec<GramEntry>,
}

impl Table {
    /// Builds the table of at most [`MAX_TABLE`] forms.
    fn build(forms: &Forms, range: Range<usize>) -> Self {
        let count = range.len();
        let of_table = || range.clone().map(|index| forms.get(index));
        let shortest = of_table().map(|form| form.core).min().unwrap_or(GRAM);
        let len = shortest.midpoint(2).clamp(1, GRAM);
        let stride = (shortest + 1 - len).min(MAX_STRIDE);
        let heads = if stride * count < MANY {
            SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(|| empty(HEADS))
        } else {
            empty(MANY_HEADS)
        };
        let mut table = Self {
            base: range.start,
            mask: u32::MAX >> (8 * (GRAM - len)),
            len,
            stride,
            heads,
            entries: Vec::with_capacity(stride * count),
        };
        for (index, form) in of_table().enumerate() {
            for offset in 0..stride {
                table.insert(index, form.bytes, offset);
            }
        }
        table
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most `MAX_TABLE` forms")]
    fn insert(&mut self, form: usize, bytes: &[u8], offset: usize) {
        let gram = self.read(bytes, offset);
        let head = &mut self.heads[hash(gram, self.heads.len())];
        self.entries.push(GramEntry { gram, form: form as u16, offset: offset as u16, next: *head });
        *head = self.entries.len() as u16;
    }

    /// Reads the gram at `at`. Bytes beyond the end count as zero.
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

    fn candidates(&self, text: &[u8], found: impl FnMut(usize, usize)) {
        // A constant length lets the compiler drop bounds checks in probes.
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
        // Four probes per branch.
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
                found(start, self.base + usize::from(entry.form));
            }
        }
    }
}

/// Multiplicative hash, reduced to an index into `heads` ([`HEADS`] or [`MANY_HEADS`] long).
fn hash(gram: u32, heads: usize) -> usize {
    let product = gram.wrapping_mul(0x9e37_79b1);
    (if heads == HEADS { product >> (32 - HEADS.ilog2()) } else { product >> (32 - MANY_HEADS.ilog2()) })
        as usize
}

/// Number of wiped tables kept for reuse, since each request builds one.
const SPARES: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Box<[u16]>>> = const { RefCell::new(Vec::new()) };
}

fn empty(heads: usize) -> Box<[u16]> {
    vec![0; heads].into_boxed_slice()
}

impl Drop for Table {
    fn drop(&mut self) {
        for entry in &mut self.entries {
            // Each nonzero head belongs to an entry.
            self.heads[hash(entry.gram, self.heads.len())].zeroize();
            entry.gram.zeroize();
        }
        if self.heads.len() != HEADS {
            return;
        }
        // A thread that is ending keeps no spares.
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
    fn more_forms_than_one_table_has_are_all_candidates() {
        let secrets: Vec<String> = (0..MAX_TABLE + 3)
            .map(|i| format!("{}{:02x}", char::from(b"ghijklmnopqrstuvwxyz"[i >> 8]), i & 0xff))
            .collect();
        let secrets: Vec<&[u8]> = secrets.iter().map(String::as_bytes).collect();
        let forms = Forms::derive(&secrets);
        let grams = Grams::build(&forms);
        assert_eq!((forms.len(), grams.0.len()), (secrets.len(), 2));
        for number in [0, MAX_TABLE - 1, MAX_TABLE, MAX_TABLE + 2] {
            let mut seen = false;
            grams.candidates(secrets[number], |start, form| seen |= (start, form) == (0, number));
            assert!(seen, "form {number}");
        }
    }

    #[test]
    fn every_occurrence_of_every_length_is_a_candidate_at_every_offset() {
        for len in 1..40 {
            let secret: Vec<u8> = (0..len).map(|i| b'A' + i).collect();
            let forms = Forms::derive(&[&secret]);
            let grams = Grams::build(&forms);
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
