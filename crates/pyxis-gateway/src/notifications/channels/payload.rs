//! What a chat message says of a payload that waits for a signature.

use super::flat::flat;
use crate::credentials::signing::PayloadView;

/// Before every line of others, so that none can pass for one of ours.
pub(super) const MARK: &str = "│ ";
/// Room for the payload and the agent's words, marks and ends of lines included, in UTF-16 units as platforms
/// count.
const ROOM: usize = 1500;

/// The lines, and true if they are enough to decide by. Then they show everything as it is, and nothing in it asks
/// for more care than a chat allows.
pub(super) fn payload_lines(shown: &PayloadView) -> (Vec<String>, bool) {
    let mut quote = Quote::default();
    for field in shown.fields() {
        let name = [field.path.as_str(), &field.r#type].join(" ");
        quote.line(&format!("{} = {}", name.trim_end(), field.value));
    }
    quote.text(shown.text.as_deref().or(shown.bytes.as_deref()));
    if shown.description.is_some() && !quote.cut {
        quote.lines.push("The agent says:".to_owned());
    }
    quote.text(shown.description.as_deref());
    let mut lines = vec![format!("Payload to sign: {}", shown.what()), format!("Digest: {}", shown.digest)];
    lines.extend(shown.warning.map(|warning| format!("Warning: {warning}")));
    let enough = quote.is_whole() && shown.warning.is_none();
    lines.append(&mut quote.lines);
    (lines, enough)
}

/// Lines of others.
#[derive(Default)]
struct Quote {
    lines: Vec<String>,
    /// Units that they take.
    used: usize,
    /// True if there was more than there is room for.
    cut: bool,
    /// True if a character is shown as another one.
    altered: bool,
}

impl Quote {
    const fn is_whole(&self) -> bool {
        !self.cut && !self.altered
    }

    fn text(&mut self, text: Option<&str>) {
        for line in text.into_iter().flat_map(|text| text.split('\n')) {
            self.line(line);
        }
    }

    /// Adds a line, as much of it as there is room for; after one that was cut, none.
    fn line(&mut self, text: &str) {
        if self.cut {
            return;
        }
        self.used += MARK.chars().count() + 1;
        let mut line = MARK.to_owned();
        for c in text.chars() {
            self.used += c.len_utf16();
            if self.used > ROOM {
                break;
            }
            self.altered |= flat(c) != c;
            line.push(flat(c));
        }
        self.cut = self.used > ROOM;
        if self.cut {
            line.push('…');
        }
        self.lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Quote {
        let mut quote = Quote::default();
        quote.text(Some(text));
        quote
    }

    #[test]
    fn text_is_whole_as_far_as_there_is_room_and_cut_beyond() {
        for (piece, units) in [("a", 1), ("é", 1), ("😀", 2), ("\n", 3)] {
            let most = (ROOM - 3) / units;
            assert!(quoted(&piece.repeat(most)).is_whole(), "{piece:?}");
            let beyond = quoted(&piece.repeat(most + 1));
            assert!(!beyond.is_whole() && beyond.lines.last().unwrap().ends_with('…'), "{piece:?}");
            let length = quoted(&piece.repeat(3 * ROOM)).lines.join("\n").encode_utf16().count();
            assert!((ROOM - 3..=ROOM + 3).contains(&length), "{piece:?}: {length}");
        }
    }

    #[test]
    fn what_cannot_be_shown_as_it_is_is_not_whole() {
        for hidden in ["pay\u{202e}", "a\tb", "a\u{2028}b", "a\r\nb", "a\u{a0}b"] {
            assert!(!quoted(hidden).is_whole(), "{hidden:?}");
        }
        let plain = quoted("two\nlines ");
        assert!(plain.is_whole());
        assert_eq!(plain.lines, ["│ two", "│ lines "]);
    }
}
