//! A message that only carries a link to the page, before a platform writes it in its format.

use super::approval_message::{ApprovalMessage, DecideIn};
use super::request_facts::RequestFacts;

/// Parts of the message, as plain text of one line each.
pub(crate) struct LinkCard {
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
    pub(super) fn new(card: &ApprovalMessage) -> Self {
        let RequestFacts { agent, credential, method, host, reason, .. } = card.facts.clone();
        let facts = [
            ("Agent", Some(agent)),
            ("Credential", Some(credential)),
            ("Method", Some(method)),
            ("Host", Some(host)),
            ("Reason", reason),
        ];
        Self {
            title: card.facts.title.clone(),
            text: card.facts.summary.clone(),
            facts: facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
            status: card.facts.status.clone(),
            link: match card.place {
                DecideIn::Ceremony => "Approve with your passkey",
                DecideIn::Page | DecideIn::Chat => "Open the request",
            },
            url: card.url.clone(),
        }
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
