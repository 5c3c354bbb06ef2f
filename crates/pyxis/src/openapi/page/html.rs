//! Builds HTML as text: markup comes only from the source, everything else is escaped.

use super::search_terms::{Piece, SearchTerms};

/// A page under construction.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends trusted markup.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text, in an element or in a quoted attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// Appends `open`, the text and `close`.
    pub(super) fn within(&mut self, open: &'static str, text: &str, close: &'static str) -> &mut Self {
        self.markup(open).text(text).markup(close)
    }

    /// Appends text with code and links in it.
    pub(super) fn push_terms(&mut self, words: &SearchTerms) -> &mut Self {
        for piece in &words.0 {
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Code(text) => self.within("<code>", text, "</code>"),
                Piece::Schema(name) => {
                    self.within("<a href=\"#schema-", name, "\">").within("", name, "</a>")
                }
            };
        }
        self
    }

    /// Appends a paragraph, unless it is empty.
    pub(super) fn paragraph(&mut self, words: &SearchTerms) -> &mut Self {
        if !words.is_empty() {
            self.markup("<p>").push_terms(words).markup("</p>\n");
        }
        self
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
