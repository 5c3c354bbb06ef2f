//! Replacement of one text in a body that is relayed piece by piece.

use bytes::Bytes;

/// A text and its replacement. Holds back no more than a beginning of the text.
pub(crate) struct Replacement {
    from: Vec<u8>,
    to: Vec<u8>,
    held: Vec<u8>,
}

impl Replacement {
    /// Replaces `from`, which is not empty.
    pub(crate) fn new(from: impl Into<Vec<u8>>, to: impl Into<Vec<u8>>) -> Self {
        Self { from: from.into(), to: to.into(), held: Vec::new() }
    }

    /// The part of the body that is certain after another piece, if there is any.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Option<Bytes> {
        self.held.extend_from_slice(piece);
        let mut done = Vec::with_capacity(self.held.len());
        let mut rest = self.held.as_slice();
        while let Some(at) = rest.windows(self.from.len()).position(|window| window == self.from.as_slice()) {
            done.extend_from_slice(&rest[..at]);
            done.extend_from_slice(&self.to);
            rest = &rest[at + self.from.len()..];
        }
        let is_begun = |length: &usize| rest.ends_with(&self.from[..*length]);
        let begun = (1..self.from.len()).rev().find(is_begun).unwrap_or(0);
        let (certain, held) = rest.split_at(rest.len() - begun);
        done.extend_from_slice(certain);
        let held = held.to_vec();
        self.held = held;
        (!done.is_empty()).then(|| Bytes::from(done))
    }

    /// The part that was held back, at the end of the body.
    pub(crate) fn finish(&mut self) -> Option<Bytes> {
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then(|| Bytes::from(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body in pieces of `size` bytes, with `"one"` replaced by `"other"`.
    fn replaced(body: &str, size: usize) -> String {
        let mut replacement = Replacement::new("\"one\"", "\"other\"");
        let mut relayed = Vec::<u8>::new();
        for piece in body.as_bytes().chunks(size) {
            relayed.extend_from_slice(&replacement.push(piece).unwrap_or_default());
        }
        relayed.extend_from_slice(&replacement.finish().unwrap_or_default());
        String::from_utf8(relayed).unwrap()
    }

    #[test]
    fn a_text_is_replaced_wherever_the_pieces_end() {
        let body = r#"{"id":"one","a":["one""one","on","one"#;
        for size in 1..=body.len() {
            assert_eq!(replaced(body, size), r#"{"id":"other","a":["other""other","on","one"#, "{size}");
        }
    }

    #[test]
    fn nothing_but_a_beginning_of_the_text_is_held_back() {
        let mut replacement = Replacement::new("\"one\"", "\"other\"");
        assert_eq!(replacement.push(b"data: {}\n\n").unwrap(), "data: {}\n\n");
        assert_eq!(replacement.push(b"a\"on").unwrap(), "a");
        assert_eq!(replacement.push(b"e"), None);
        assert_eq!(replacement.push(b"x").unwrap(), "\"onex");
        assert_eq!(replacement.finish(), None);
    }
}
