//! The secrets of one request, prepared for searching.

use std::borrow::Cow;
use std::fmt;

use crate::matching::{Matcher, Span};
use crate::tag::{Wording, safe_tag};

/// The secrets of one request, prepared for searching. Wiped when dropped.
///
/// Building one costs about as much as reading a few kilobytes of text, so it need not outlive the request. Share it as
/// `Arc` between the [`Scrubber`](crate::Scrubber)s of body and trailers.
pub struct Needles {
    label: String,
    wording: Wording,
    matcher: Matcher,
}

impl Needles {
    /// Prepares to search for each of `secrets` in all its forms (see the crate documentation).
    ///
    /// `label` is the credential's name in the replacement `[REDACTED:<label>]`. Raw secrets of any length are searched
    /// for, so do not pass a placeholder such as the `x` of `Authorization: Basic` user names. Empty secrets are
    /// ignored.
    ///
    /// Neither the length nor the number of secrets is limited. Only the lines and encodings of PEM keys are, over all
    /// of `secrets` (see the crate documentation).
    pub fn new(label: &str, secrets: &[&[u8]]) -> Self {
        Self { label: label.to_owned(), wording: Wording::Tag, matcher: Matcher::compile(secrets) }
    }

    /// Like [`Needles::new`], for text that people read: the replacement is ``[contains the secret of `<label>`]``.
    pub fn in_words(label: &str, secrets: &[&[u8]]) -> Self {
        Self { wording: Wording::Sentence, ..Self::new(label, secrets) }
    }

    /// The credential's name in the replacement.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// True if there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.matcher.is_empty()
    }

    /// True if `text` contains a secret.
    pub fn found_in(&self, text: &[u8]) -> bool {
        !self.matcher.find(text, true).spans.is_empty()
    }

    /// End of a window of `text` that contains all of every secret that starts in its first `most` bytes.
    pub fn window(&self, text: &[u8], most: usize) -> usize {
        self.matcher.window(text, most)
    }

    /// Replaces the secrets in one complete text, such as an error message or a status line.
    pub fn scrub_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut spans = self.matcher.find(text.as_bytes(), true).spans;
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        // A secret that is not UTF-8 may match inside a character.
        for (start, end) in &mut spans {
            *start = text.floor_char_boundary(*start);
            *end = text.ceil_char_boundary(*end);
        }
        let scrubbed = replace(text.as_bytes(), &spans, &self.tag());
        Cow::Owned(String::from_utf8_lossy(&scrubbed).into_owned())
    }

    /// Replaces the secrets in one complete value, such as a header or trailer value.
    pub fn scrub_bytes<'t>(&self, value: &'t [u8]) -> Cow<'t, [u8]> {
        let spans = self.matcher.find(value, true).spans;
        if spans.is_empty() {
            return Cow::Borrowed(value);
        }
        Cow::Owned(replace(value, &spans, &self.tag()))
    }

    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The replacement. Built only if needed, which is rare.
    pub(crate) fn tag(&self) -> Vec<u8> {
        safe_tag(&self.label, self.wording, self.matcher.forms())
    }
}

fn replace(text: &[u8], spans: &[Span], tag: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + tag.len());
    let mut at = 0;
    for &(start, end) in spans {
        out.extend_from_slice(&text[at..start.max(at)]);
        if start >= at {
            out.extend_from_slice(tag);
        }
        at = at.max(end);
    }
    out.extend_from_slice(&text[at..]);
    out
}

impl fmt::Debug for Needles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needles").field("label", &self.label).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "window-canary-9917/+x";

    #[test]
    fn a_window_has_every_secret_whole_that_starts_in_it() {
        let needles = Needles::new("api", &[SECRET.as_bytes()]);
        let escaped = SECRET.bytes().map(|byte| format!("\\u{byte:04x}")).collect::<Vec<_>>().concat();
        let encoded = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        for form in [SECRET.to_owned(), escaped, encoded] {
            for before in 0..=form.len() {
                let text = format!("{}{form}{}", "-".repeat(before), "-".repeat(100));
                let most = form.len();
                let end = needles.window(text.as_bytes(), most);
                let clean = needles.scrub_text(&text[..end]);
                if before < most {
                    assert_eq!(clean.matches("[REDACTED:api]").count(), 1, "{form} after {before}: {clean}");
                } else {
                    assert_eq!(end, most, "nothing starts before");
                }
            }
        }
    }

    #[test]
    fn a_window_ends_with_the_text_or_where_no_secret_is_open() {
        let needles = Needles::new("api", &[SECRET.as_bytes()]);
        assert_eq!(needles.window(b"short", 100), 5);
        assert_eq!(needles.window(&[b'.'; 1000], 100), 100);
        assert_eq!(Needles::new("none", &[]).window(&[b'.'; 1000], 100), 100);
    }
}
