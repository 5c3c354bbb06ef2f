//! A message that only carries a link to the page, before a platform writes it in its format.

use pyxis_core::brand::SECURED_BY;
use pyxis_core::hex;
use sha2::{Digest, Sha256};

/// Parts of the message, as plain text of one line each.
#[derive(Clone, Debug)]
pub(crate) struct LinkCard {
    /// Name of the workspace.
    pub(crate) brand: String,
    /// The same, and the state of the request or task.
    pub(crate) title: String,
    /// One sentence.
    pub(crate) text: String,
    /// Names and values.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Approvals so far and the end of the approval window, or how the request ended.
    pub(crate) status: Vec<String>,
    /// Label of the link.
    pub(crate) link: &'static str,
    pub(crate) url: String,
}

impl LinkCard {
    /// Value of the fact with this name.
    pub(super) fn fact(&self, wanted: &str) -> Option<&str> {
        self.facts.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str())
    }

    /// The whole message as plain text, line by line.
    pub(super) fn plain_text(&self) -> String {
        let facts = self.facts.iter().map(|(name, value)| format!("{name}: {value}"));
        let end = [format!("{}: {}", self.link, self.url), SECURED_BY.to_owned()];
        let head = [self.title.clone(), self.text.clone()].into_iter();
        let lines: Vec<String> = head.chain(facts).chain(self.status.iter().cloned()).chain(end).collect();
        lines.join("\n")
    }

    /// Name of an attempt to post this as the message `id`. It differs from that of another text, so that no platform
    /// takes one for the other.
    pub(super) fn key(&self, id: &str) -> String {
        format!("{id}-{}", hex::encode(&Sha256::digest(self.plain_text())[..8]))
    }
}

/// Text in which `escape` replaces characters, of at most `max` bytes. It ends between two characters, never within a
/// replacement.
pub(super) fn escaped_to(text: &str, max: usize, escape: impl Fn(char, &mut String)) -> String {
    const CUT: char = '…';
    let mut out = String::with_capacity(text.len().min(max));
    // The length of the text that leaves room for the sign of a cut.
    let mut last = 0;
    for c in text.chars() {
        escape(c, &mut out);
        if out.len() > max {
            out.truncate(last);
            out.push(CUT);
            return out;
        }
        if out.len() + CUT.len_utf8() <= max {
            last = out.len();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(c: char, out: &mut String) {
        if c == '*' {
            out.push('\\');
        }
        out.push(c);
    }

    #[test]
    fn text_is_escaped_and_then_cut_between_characters() {
        assert_eq!(escaped_to("a*b", 4, doubled), "a\\*b");
        assert_eq!(escaped_to("a*bc", 4, doubled), "a…");
        for max in 3..40 {
            let cut = escaped_to(&"*é".repeat(20), max, doubled);
            assert!(cut.len() <= max && cut.ends_with('…') && !cut.ends_with("\\…"), "{max}: {cut}");
        }
    }
}
