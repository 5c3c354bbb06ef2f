//! PEM private keys as other programs print them: with a different line width, different line ends, or only one line.

use memchr::memmem;
use zeroize::Zeroizing;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// Line width of nearly every PEM file (RFC 7468, section 2).
const WIDTH: usize = 64;
/// Minimum length of a line that is searched for separately.
const MIN_LINE: usize = 8;
/// Maximum number of lines that are searched for separately, over all blocks of a secret. A longer key is found as a
/// whole.
const MAX_LINES: usize = 128;

/// The base64 text of one block, without its line ends.
pub(crate) struct Body {
    /// The whole text.
    pub(crate) joined: Zeroizing<Vec<u8>>,
    /// Ranges of `joined` that are lines: those of the secret as given, and those of 64 characters.
    pub(crate) lines: Vec<(usize, usize)>,
}

/// The PEM blocks in `secret`. Line ends may be written as `\n`, as in a service account's JSON file.
pub(crate) fn bodies(secret: &[u8]) -> Vec<Body> {
    let mut found = Vec::new();
    let mut room = MAX_LINES;
    let mut rest = secret;
    while let Some(begin) = memmem::find(rest, BEGIN) {
        rest = &rest[begin + BEGIN.len()..];
        let Some(label_end) = memmem::find(rest, DASHES) else { break };
        rest = &rest[label_end + DASHES.len()..];
        let end = memmem::find(rest, END).unwrap_or(rest.len());
        let body = body(&rest[..end], room);
        room -= body.lines.len();
        if !body.joined.is_empty() {
            found.push(body);
        }
        rest = &rest[end..];
    }
    found
}

fn body(text: &[u8], room: usize) -> Body {
    // Allocated in full, because a move would leave an unwiped copy behind.
    let mut joined = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut lines = Vec::new();
    for line in lines_of(text) {
        let start = joined.len();
        joined.extend_from_slice(line);
        lines.push((start, joined.len()));
    }
    let usual = (0..joined.len()).step_by(WIDTH).map(|start| (start, joined.len().min(start + WIDTH)));
    for line in usual {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    // A line that is the whole text is already searched for as a whole.
    lines.retain(|(start, end)| end - start >= MIN_LINE && end - start < joined.len());
    lines.truncate(room);
    Body { joined, lines }
}

/// The lines of base64. Headers of old formats (`Proc-Type: …`) are skipped.
fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let end = rest.iter().position(|byte| !is_base64(*byte)).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            // After the line comes its end: a control character, or a backslash with a letter.
            let skipped = match after {
                [b'\\', b'n' | b'r' | b't', ..] => 2,
                [] => 0,
                _ => 1,
            };
            // A line that is not base64 up to its end is a header.
            if matches!(after, [b':' | b'-', ..]) {
                rest = after_line(after);
                continue;
            }
            rest = &after[skipped..];
            if !line.is_empty() {
                return Some(line);
            }
        }
    })
}

/// The text after the end of the current line.
fn after_line(text: &[u8]) -> &[u8] {
    let plain = memchr::memchr2(b'\n', b'\r', text).map(|at| at + 1);
    let escaped = memmem::find(text, b"\\n").map(|at| at + 2);
    let end = [plain, escaped].into_iter().flatten().min().unwrap_or(text.len());
    &text[end..]
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(secret: &str) -> Vec<(String, Vec<String>)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let lines = |body: &Body| {
            body.lines.iter().map(|(start, end)| text(&body.joined[*start..*end])).collect::<Vec<_>>()
        };
        bodies(secret.as_bytes()).iter().map(|body| (text(&body.joined), lines(body))).collect()
    }

    #[test]
    fn a_body_is_read_whatever_its_line_ends_are() {
        let expected =
            [("MIIEabcd+/0123456789==".to_owned(), vec!["MIIEabcd".into(), "+/0123456789==".into()])];
        for end in ["\n", "\r\n", "\\n", "\\r\\n", "\n    "] {
            let text =
                format!("-----BEGIN A KEY-----{end}MIIEabcd{end}+/0123456789=={end}-----END A KEY-----");
            assert_eq!(read(&text), expected, "{end:?}");
        }
    }

    #[test]
    fn one_long_line_is_also_looked_for_in_lines_of_the_usual_width() {
        let body = "A".repeat(64) + &"B".repeat(64) + "CCCCCCCCCC";
        let found = read(&format!("-----BEGIN KEY-----\n{body}\n-----END KEY-----\n"));
        assert_eq!(found, [(body, vec!["A".repeat(64), "B".repeat(64), "C".repeat(10)])]);
    }

    #[test]
    fn headers_of_old_formats_are_left_out_and_several_blocks_are_read() {
        let text = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n\
                    MIIEabcdefgh\n-----END RSA PRIVATE KEY-----\n-----BEGIN X-----\nabcdefghijkl";
        let found = read(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("MIIEabcdefgh", "abcdefghijkl"));
        assert!(read("no key").is_empty());
    }
}
