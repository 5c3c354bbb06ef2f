//! Lines of a file, with a bounded length.

use std::io::{self, BufRead, Read};

use crate::credential::MAX_BYTES;

/// Length of a line longer than any credential; the rest was skipped.
pub(super) const TOO_LONG: usize = MAX_BYTES + 1;

/// Appends the next line, without its end, to `text`, at most [`TOO_LONG`] bytes. Returns the number of file bytes
/// consumed, 0 at the end.
pub(super) fn read(source: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<u64> {
    let begin = text.len();
    let mut taken = (&mut *source).take(TOO_LONG as u64 + 1).read_until(b'\n', text)? as u64;
    if taken > 0 && text.last() == Some(&b'\n') {
        text.pop();
    } else if text.len() - begin > TOO_LONG {
        taken += skip(source)?;
    }
    text.truncate(begin + TOO_LONG);
    Ok(taken)
}

fn skip(source: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = source.fill_buf()?;
        let found = memchr::memchr(b'\n', buffer);
        let length = found.map_or(buffer.len(), |at| at + 1);
        source.consume(length);
        skipped += length as u64;
        if found.is_some() || length == 0 {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one_and_a_long_one_is_cut_but_counted() {
        let long = "x".repeat(3 * MAX_BYTES);
        let text = format!("one\n\n{long}\nlast");
        let mut source = io::BufReader::with_capacity(100, text.as_bytes());
        let mut read_so_far = Vec::new();
        let mut seen = Vec::new();
        loop {
            let begin = read_so_far.len();
            let taken = read(&mut source, &mut read_so_far).unwrap();
            if taken == 0 {
                break;
            }
            seen.push((taken, read_so_far.len() - begin));
        }
        assert_eq!(seen, [(4, 3), (1, 0), (long.len() as u64 + 1, TOO_LONG), (4, 4)]);
        assert_eq!(read_so_far, format!("one{}last", &long[..TOO_LONG]).into_bytes());
    }
}
