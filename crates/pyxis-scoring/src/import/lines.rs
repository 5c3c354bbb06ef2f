//! Lines of a file, with a bound on their length.

use std::io::{self, BufRead, Read};

use crate::credential::MAX_BYTES;

/// A line that is longer than any credential: what is beyond was skipped.
pub(super) const TOO_LONG: usize = MAX_BYTES + 1;

/// Reads the next line without its end into `line`, at most [`TOO_LONG`] bytes of it; how many bytes of the
/// file it took, 0 at the end.
pub(super) fn read(source: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut taken = (&mut *source).take(TOO_LONG as u64 + 1).read_until(b'\n', line)? as u64;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > TOO_LONG {
        taken += skip(source)?;
    }
    line.truncate(TOO_LONG);
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
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            let taken = read(&mut source, &mut line).unwrap();
            if taken == 0 {
                break;
            }
            seen.push((taken, line.len()));
        }
        assert_eq!(seen, [(4, 3), (1, 0), (long.len() as u64 + 1, TOO_LONG), (4, 4)]);
    }
}
