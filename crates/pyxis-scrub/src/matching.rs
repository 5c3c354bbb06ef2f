//! Finds every occurrence of a form, plain or escaped, in a window of text.

use std::collections::BTreeSet;

use memchr::{memchr_iter, memchr2_iter, memchr3_iter};
use smallvec::SmallVec;

use crate::escape::{Break, MAX_BREAK_LEN, MAX_ESCAPE_LEN, each_reading, is_lead, is_line_end, line_break};
use crate::grams::Grams;
use crate::secret_variants::{Forms, MIN_BEFORE_BREAK, SecretVariant};
use zeroize::Zeroize;

/// 16,384 bits, so that few pairs collide.
const PAIR_WORDS: usize = 256;

/// First step, in bytes, by which a window grows to complete an unfinished match.
const FIRST_STEP: usize = 256;

/// A half-open range of offsets into the window.
pub(crate) type Span = (usize, usize);

pub(crate) struct WindowMatches {
    /// Sorted. Spans that overlap or touch are merged.
    pub(crate) spans: SmallVec<[Span; 4]>,
    /// Offset from which the text may be the start of a match that continues after the window.
    pub(crate) hold: usize,
}

/// Searches for the forms of one request's secrets.
///
/// Two filters propose starts, and one exact test decides. A form whose first bytes are not escaped is found by one of
/// its [`Grams`]. Any other form has a first escape or line break with plain bytes before it. For these, the filter
/// over `pairs` compares the byte before it and the text after it with all neighboring bytes in the forms.
pub(crate) struct Matcher {
    forms: Forms,
    grams: Grams,
    /// First bytes of all forms.
    first: ByteSet,
    /// All bytes that occur in forms.
    present: ByteSet,
    /// Hashed bit set of neighboring bytes in forms. Boxed, because a matcher is moved around.
    pairs: Box<[u64; PAIR_WORDS]>,
    /// Length of the longest form, in bytes.
    longest: usize,
    /// True if any form contains a space, which may be written `+`.
    space: bool,
    /// True if a line may be broken inside any form.
    wraps: bool,
}

impl Matcher {
    pub(crate) fn compile(secrets: &[&[u8]]) -> Self {
        let forms = Forms::derive(secrets);
        let grams = Grams::build(&forms);
        let wraps = forms.iter().any(|form| form.wraps);
        let mut matcher = Self {
            grams,
            first: ByteSet::default(),
            present: ByteSet::default(),
            pairs: Box::new([0; PAIR_WORDS]),
            longest: forms.iter().map(|form| form.bytes.len()).max().unwrap_or(0),
            space: secrets.iter().any(|secret| secret.contains(&b' ')),
            wraps,
            forms,
        };
        for SecretVariant { bytes, .. } in matcher.forms.iter() {
            matcher.first.insert(bytes[0]);
            for byte in bytes {
                matcher.present.insert(*byte);
            }
            for pair in bytes.windows(2) {
                let bit = pair_bit(pair[0], pair[1]);
                matcher.pairs[bit / 64] |= 1 << (bit % 64);
            }
        }
        matcher
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.forms.len() == 0
    }

    pub(crate) fn forms(&self) -> &Forms {
        &self.forms
    }

    fn is_pair(&self, left: u8, right: u8) -> bool {
        let bit = pair_bit(left, right);
        self.pairs[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// All matches in `text`. With `last`, no text follows and nothing is held back.
    pub(crate) fn find(&self, text: &[u8], last: bool) -> WindowMatches {
        if self.is_empty() {
            return WindowMatches { spans: SmallVec::new(), hold: text.len() };
        }
        let mut spans = SmallVec::new();
        let mut fuel = fuel_for(text);
        for start in self.starts(text) {
            if let Some(end) = self.match_at(text, start, &mut fuel).end {
                add(&mut spans, (start, end));
            }
        }
        let hold = if last { text.len() } else { self.pending_from(text) };
        WindowMatches { spans, hold }
    }

    /// End of a window of `text` that contains all of every match that starts in its first `most` bytes.
    pub(crate) fn window(&self, text: &[u8], most: usize) -> usize {
        let mut end = most.min(text.len());
        while end < text.len() && !self.is_empty() && self.pending_from(&text[..end]) < most {
            // Growing steps ensure that few of them read all of a long match.
            end = (end + (end - most).max(FIRST_STEP)).min(text.len());
        }
        end
    }

    /// Offsets at which matches may start, in order. Empty, and thus without allocation, for nearly all text.
    fn starts(&self, text: &[u8]) -> BTreeSet<usize> {
        let mut starts = BTreeSet::new();
        self.grams.candidates(text, |start, form| {
            let form = self.forms.get(form);
            // A match with an escape or a line break later on is found from there.
            if text[start..].starts_with(&form.bytes[..form.core]) {
                starts.insert(start);
            }
        });
        for lead in memchr3_iter(b'%', b'\\', b'&', text) {
            self.starts_before(text, lead, &mut starts);
            if self.wraps {
                self.starts_before_break(text, lead, &mut starts);
            }
        }
        if self.space {
            for lead in memchr_iter(b'+', text) {
                self.starts_before(text, lead, &mut starts);
            }
        }
        if self.wraps {
            for at in memchr2_iter(b'\n', b'\r', text) {
                self.starts_before_break(text, at, &mut starts);
            }
        }
        starts
    }

    /// Proposes the starts of all forms whose first line break may be at `at`.
    fn starts_before_break(&self, text: &[u8], at: usize, starts: &mut BTreeSet<usize>) {
        let Some(before) = at.checked_sub(MIN_BEFORE_BREAK).map(|from| &text[from..at]) else { return };
        if !before.windows(2).all(|pair| self.is_pair(pair[0], pair[1])) {
            return;
        }
        let Break::Ends(end) = line_break(text, at) else { return };
        let Some(&next) = text.get(end) else { return };
        let last = before[MIN_BEFORE_BREAK - 1];
        if self.is_pair(last, next) {
            self.plain_before(text, at, next, starts);
        }
        each_reading(text, end, |unit, _| {
            for byte in unit.first_bytes().into_iter().flatten() {
                if self.is_pair(last, byte) {
                    self.plain_before(text, at, byte, starts);
                }
            }
        });
    }

    /// Proposes the starts of all forms whose first escape may be at `lead`.
    fn starts_before(&self, text: &[u8], lead: usize, starts: &mut BTreeSet<usize>) {
        let before = lead.checked_sub(1).map(|at| text[at]);
        each_reading(text, lead, |unit, _| {
            for byte in unit.first_bytes().into_iter().flatten() {
                if !self.present.contains(byte) {
                    continue;
                }
                if self.first.contains(byte) {
                    starts.insert(lead);
                }
                if before.is_some_and(|before| self.is_pair(before, byte)) {
                    self.plain_before(text, lead, byte, starts);
                }
            }
        });
    }

    /// Proposes starts whose plain beginning ends at `lead`, where `byte` is next.
    fn plain_before(&self, text: &[u8], lead: usize, byte: u8, starts: &mut BTreeSet<usize>) {
        for SecretVariant { bytes, .. } in self.forms.iter() {
            for index in memchr_iter(byte, bytes) {
                if index > 0 && text[..lead].ends_with(&bytes[..index]) {
                    starts.insert(lead - index);
                }
            }
        }
    }

    /// The longest match at `start`, over all forms.
    fn match_at(&self, text: &[u8], start: usize, fuel: &mut usize) -> Walk {
        let mut walk = Walk::default();
        let mut first = ByteSet::default();
        first.insert(text[start]);
        walk.cut_short = each_reading(text, start, |unit, _| {
            unit.first_bytes().into_iter().flatten().for_each(|byte| first.insert(byte));
        });
        for form in self.forms.iter() {
            if first.contains(form.bytes[0]) {
                walk.follow(text, start, form, fuel);
            }
        }
        walk
    }

    /// The first offset of a possible match that continues after the end of the window.
    fn pending_from(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.max_match_length(text));
        let mut fuel = fuel_for(text);
        (from..text.len())
            .find(|at| self.may_start_at(text, *at) && self.match_at(text, *at, &mut fuel).cut_short)
            .unwrap_or(text.len())
    }

    /// Maximum distance from the end of `text` at which an unfinished match can start. Each byte counts as one byte of
    /// a form. An escape is longer but also counts as one byte, and a line break counts as none.
    fn max_match_length(&self, text: &[u8]) -> usize {
        const EXTRA: usize = MAX_ESCAPE_LEN + MAX_BREAK_LEN;
        let most = self.longest.saturating_mul(EXTRA);
        let mut reach = self.longest - 1;
        let mut next = None;
        for (back, &byte) in text.iter().rev().enumerate() {
            // The lead may be inside an escape or a line break that starts further left.
            if reach >= most || back > reach + 2 * EXTRA {
                break;
            }
            if self.wraps && (is_line_end(byte) || may_break(byte, next)) {
                reach += EXTRA - 1;
            } else if matches!(byte, b'%' | b'\\' | b'&') {
                reach += MAX_ESCAPE_LEN - 1;
            }
            next = Some(byte);
        }
        reach.min(most)
    }

    /// A quick check of two bytes.
    fn may_start_at(&self, text: &[u8], at: usize) -> bool {
        let byte = text[at];
        if is_lead(byte) {
            return true;
        }
        self.first.contains(byte)
            && text.get(at + 1).is_none_or(|next| is_lead(*next) || self.is_pair(byte, *next))
    }
}

impl Drop for Matcher {
    fn drop(&mut self) {
        self.first.0.zeroize();
        self.present.0.zeroize();
        self.pairs.zeroize();
    }
}

/// True if an escape that starts with these two bytes can be a line end. Most, such as `\"`, cannot.
fn may_break(lead: u8, next: Option<u8>) -> bool {
    match lead {
        // Also with escapes of the percent sign in between.
        b'%' => matches!(next, Some(b'0' | b'2') | None),
        b'\\' => matches!(next, Some(b'n' | b'r' | b'u' | b'x' | b'&' | b'\\' | b'\n' | b'\r') | None),
        b'&' => matches!(next, Some(b'#' | b'N' | b'a') | None),
        _ => false,
    }
}

/// Maximum number of escapes tried in `text`. A form made of escape characters can agree with similar text at every
/// offset and in many ways. Once the fuel is used up, the scan fails closed: the whole rest is a match.
fn fuel_for(text: &[u8]) -> usize {
    64 * text.len() + 16 * 1024
}

fn pair_bit(left: u8, right: u8) -> usize {
    (usize::from(left) << 6 ^ usize::from(right)) & (64 * PAIR_WORDS - 1)
}

#[derive(Default)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

/// Compares text with forms, byte by byte, and tries every reading of every escape.
#[derive(Default)]
struct Walk {
    /// End of the longest match.
    end: Option<usize>,
    /// True if the text ended before a form did.
    cut_short: bool,
}

impl Walk {
    fn follow(&mut self, text: &[u8], start: usize, form: SecretVariant<'_>, fuel: &mut usize) {
        let SecretVariant { bytes, core, wraps } = form;
        // Branches to follow, as (matched bytes of the form, offset). Every step advances in the form or in the text,
        // so taking the smallest first visits each state once. Empty, and thus without allocation, until an escape or a
        // line break agrees with the form.
        let mut branches = BTreeSet::new();
        let mut state = Some((0, start));
        while let Some((mut done, mut at)) = state.take().or_else(|| branches.pop_first()) {
            loop {
                if done >= core {
                    self.end = self.end.max(Some(at));
                }
                if done == bytes.len() {
                    break;
                }
                let Some(&byte) = text.get(at) else {
                    self.cut_short = true;
                    break;
                };
                if is_lead(byte) || is_line_end(byte) {
                    *fuel = fuel.saturating_sub(1);
                    if *fuel == 0 {
                        *self = Self { end: Some(text.len()), cut_short: true };
                        return;
                    }
                    let mut broken = is_line_end(byte);
                    self.cut_short |= each_reading(text, at, |unit, end| {
                        broken |= unit.first_bytes()[0].is_some_and(is_line_end);
                        let taken = unit.prefix_of(&bytes[done..]).into_iter().flatten();
                        branches.extend(taken.map(|taken| (done + taken, end)));
                    });
                    if broken && wraps && (MIN_BEFORE_BREAK..core).contains(&done) {
                        match line_break(text, at) {
                            Break::None => {}
                            Break::Ends(end) => drop(branches.insert((done, end))),
                            Break::CutShort => self.cut_short = true,
                        }
                    }
                }
                if byte != bytes[done] {
                    break;
                }
                done += 1;
                at += 1;
                if !branches.is_empty() {
                    branches.insert((done, at));
                    break;
                }
            }
        }
    }
}

/// Adds `span`, which starts no earlier than the previous ones, or extends the last one.
fn add(spans: &mut SmallVec<[Span; 4]>, (start, end): Span) {
    match spans.last_mut() {
        Some(last) if start <= last.1 => last.1 = last.1.max(end),
        _ => spans.push((start, end)),
    }
}
