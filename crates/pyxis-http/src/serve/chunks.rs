//! End detection for chunked bodies (RFC 9112, section 7.1).

/// Position in a chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chunks {
    /// In a chunk size: value and number of digits so far.
    Size(u64, u8),
    /// After a chunk size, before its line end.
    Extension(u64),
    /// At the line feed after a size.
    SizeEnd(u64),
    /// Remaining bytes of a chunk.
    Data(u64),
    /// At the carriage return after a chunk.
    DataReturn,
    /// At the line feed after a chunk.
    DataEnd,
    /// In the trailers; true if the current line is not empty.
    Trailer(bool),
    /// At the line feed of a trailer line; true if that line is empty.
    TrailerEnd(bool),
}

/// Result of reading a piece of a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// All bytes belong to the body, which continues.
    Open,
    /// The body ends after this many bytes.
    Ends(usize),
    /// The byte at this position is not allowed.
    Broken(usize),
}

/// Maximum digits of a chunk size that fits into 64 bits.
const MAX_DIGITS: u8 = 16;

impl Chunks {
    /// Start of a body.
    pub(super) const START: Self = Self::Size(0, 0);

    /// Consumes the next bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Piece {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let Self::Data(left) = *self {
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += here;
                let left = left - here as u64;
                *self = if left == 0 { Self::DataReturn } else { Self::Data(left) };
                continue;
            }
            match self.step(byte) {
                Some(Some(next)) => *self = next,
                Some(None) => return Piece::Ends(at + 1),
                None => return Piece::Broken(at),
            }
            at += 1;
        }
        Piece::Open
    }

    /// Next position after `byte`: `None` if it is not allowed here, `Some(None)` if it ends the body.
    fn step(self, byte: u8) -> Option<Option<Self>> {
        Some(Some(match (self, byte) {
            (Self::Size(size, digits), _) if byte.is_ascii_hexdigit() && digits < MAX_DIGITS => {
                let digit = char::from(byte).to_digit(16)?;
                Self::Size(size << 4 | u64::from(digit), digits + 1)
            }
            (Self::Size(_, 0), _) => return None,
            (Self::Size(size, _) | Self::Extension(size), b'\r') => Self::SizeEnd(size),
            (Self::Size(size, _), b';' | b' ' | b'\t')
            | (Self::Extension(size), b'\t' | b' '..=b'~' | 0x80..) => Self::Extension(size),
            (Self::SizeEnd(0) | Self::TrailerEnd(false), b'\n') => Self::Trailer(false),
            (Self::SizeEnd(size), b'\n') => Self::Data(size),
            (Self::DataReturn, b'\r') => Self::DataEnd,
            (Self::DataEnd, b'\n') => Self::START,
            (Self::Trailer(any), b'\r') => Self::TrailerEnd(!any),
            (Self::Trailer(_), b'\t' | b' '..=b'~' | 0x80..) => Self::Trailer(true),
            (Self::TrailerEnd(true), b'\n') => return Some(None),
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Piece {
        let mut chunks = Chunks::START;
        chunks.read(text.as_bytes())
    }

    #[test]
    fn a_chunked_body_ends_after_its_trailers() {
        for body in ["0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "A;x=1\r\n0123456789\r\n00\r\nx-sum: 1\r\n\r\n"]
        {
            assert_eq!(read(&format!("{body}GET /")), Piece::Ends(body.len()), "{body:?}");
            for cut in 0..body.len() {
                let mut chunks = Chunks::START;
                assert_eq!(chunks.read(&body.as_bytes()[..cut]), Piece::Open, "{body:?} {cut}");
                assert_eq!(chunks.read(&body.as_bytes()[cut..]), Piece::Ends(body.len() - cut));
            }
        }
    }

    #[test]
    fn what_is_no_chunk_is_found_at_its_place() {
        for (body, at) in [
            ("\r\n", 0),
            ("5\nhello", 1),
            ("-5\r\n", 0),
            ("0x5\r\n", 1),
            ("5\r\nhello0\r\n", 8),
            ("5\r\nhello\n0\r\n", 8),
            ("0\r\n\n", 3),
            ("0\r\nx: 1\n\r\n", 7),
            ("11111111111111111\r\n", 16),
            ("5;a\u{1}\r\n", 3),
        ] {
            assert_eq!(read(body), Piece::Broken(at), "{body:?}");
        }
    }
}
