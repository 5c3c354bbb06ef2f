//! Parameter collection and normalization (RFC 5849, section 3.4.1.3).

use std::ops::Range;

use super::ReservedParameter;
use crate::percent;

/// Encoded names and values, all in one buffer.
pub(super) struct Parameters {
    text: Vec<u8>,
    pairs: Vec<(Range<usize>, Range<usize>)>,
}

impl Parameters {
    pub(super) fn new() -> Self {
        Self { text: Vec::with_capacity(512), pairs: Vec::with_capacity(16) }
    }

    /// Adds the pairs of a query or form. Empty pieces between two `&` are skipped.
    pub(super) fn add_encoded(
        &mut self,
        source: &[u8],
        place: &'static str,
    ) -> Result<(), ReservedParameter> {
        for piece in source.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()) {
            let equals = piece.iter().position(|byte| *byte == b'=').unwrap_or(piece.len());
            let name = percent::decode_form(&piece[..equals]);
            if name.starts_with(b"oauth_") {
                return Err(ReservedParameter { place });
            }
            let value = percent::decode_form(piece.get(equals + 1..).unwrap_or_default());
            self.add(&name, &value);
        }
        Ok(())
    }

    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        let (name, value) = (self.push(name), self.push(value));
        self.pairs.push((name, value));
    }

    fn push(&mut self, raw: &[u8]) -> Range<usize> {
        let start = self.text.len();
        percent::push(&mut self.text, raw);
        start..self.text.len()
    }

    /// Appends the normalized parameters to a base string: sorted by encoded name, then by encoded value, joined, and
    /// encoded as a whole.
    pub(super) fn push_normalized(mut self, base: &mut Vec<u8>) {
        let Self { text, pairs } = &mut self;
        let part = |range: &Range<usize>| &text[range.clone()];
        pairs.sort_unstable_by(|a, b| part(&a.0).cmp(part(&b.0)).then_with(|| part(&a.1).cmp(part(&b.1))));
        for (place, (name, value)) in pairs.iter().enumerate() {
            if place > 0 {
                base.extend_from_slice(b"%26");
            }
            percent::push_again(base, part(name));
            base.extend_from_slice(b"%3D");
            percent::push_again(base, part(value));
        }
    }
}
