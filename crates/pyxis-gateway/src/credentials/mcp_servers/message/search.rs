//! Search for the answer in a body that is still arriving, in time linear in its length.

use serde_json::Value;

use super::is_answer;

/// Search in one body. Each byte is looked at once, and read once more as part of its event or document.
#[derive(Debug, Default)]
pub struct AnswerSearch {
    /// Bytes that were looked at.
    seen: usize,
    /// Bytes that were read as JSON.
    read: usize,
    form: BodyFormat,
}

/// Form of a body, as its first character says.
#[derive(Debug, Default)]
enum BodyFormat {
    #[default]
    Unknown,
    Document(Nesting),
    Events(Event),
    /// A document that ended. What follows does not matter.
    Ended,
}

/// Place in a JSON document.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    after_backslash: bool,
}

/// An event that has not ended. (<https://html.spec.whatwg.org/multipage/server-sent-events.html>)
#[derive(Debug)]
struct Event {
    /// Beginning of the line that has not ended.
    line: usize,
    /// Data of the lines before it, joined by line feeds.
    data: Vec<u8>,
}

impl AnswerSearch {
    /// The answer in `body`, which is everything that has arrived so far. Call it again with more while it is `None`.
    pub fn find(&mut self, body: &[u8]) -> Option<Value> {
        while self.seen < body.len() {
            let (at, byte) = (self.seen, body[self.seen]);
            self.seen += 1;
            let found = match &mut self.form {
                BodyFormat::Unknown => {
                    self.form = BodyFormat::beginning_with(byte, at);
                    None
                }
                BodyFormat::Document(nesting) => {
                    if nesting.ends_with(byte) {
                        self.form = BodyFormat::Ended;
                        self.read += body.len();
                        parse(body)
                    } else {
                        None
                    }
                }
                BodyFormat::Events(event) if byte == b'\n' => event.end_line(body, at).and_then(|data| {
                    self.read += data.len();
                    parse(&data)
                }),
                BodyFormat::Events(_) | BodyFormat::Ended => None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Bytes looked at and read, together.
    #[cfg(test)]
    pub(super) fn work(&self) -> usize {
        self.seen + self.read
    }
}

fn parse(json: &[u8]) -> Option<Value> {
    serde_json::from_slice(json).ok().filter(is_answer)
}

impl BodyFormat {
    fn beginning_with(byte: u8, at: usize) -> Self {
        match byte {
            b'{' => Self::Document(Nesting { depth: 1, ..Nesting::default() }),
            byte if byte.is_ascii_whitespace() => Self::Unknown,
            _ => Self::Events(Event { line: at, data: Vec::new() }),
        }
    }
}

impl Nesting {
    /// Goes on by one byte. Returns true if the document ends with it.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.in_string {
            self.in_string = self.after_backslash || byte != b'"';
            self.after_backslash = !self.after_backslash && byte == b'\\';
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0
    }
}

impl Event {
    /// Ends the line whose line feed is at `end`. Returns the event's data if the line is empty.
    fn end_line(&mut self, body: &[u8], end: usize) -> Option<Vec<u8>> {
        let line = &body[self.line..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.line = end + 1;
        if line.is_empty() {
            return Some(std::mem::take(&mut self.data));
        }
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}
