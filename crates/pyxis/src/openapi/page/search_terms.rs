//! Text with code and links in it, as pieces. The template escapes each piece, so nothing becomes markup by accident.

use serde_json::Value;

/// A run of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SearchTerms(pub(super) Vec<Piece>);

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Plain text.
    Text(String),
    Code(String),
    /// Link to a schema on this page.
    Schema(String),
}

impl SearchTerms {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push_text(&mut self, text: impl Into<String>) {
        self.0.push(Piece::Text(text.into()));
    }

    pub(super) fn push_code(&mut self, text: impl Into<String>) {
        self.0.push(Piece::Code(text.into()));
    }
}

/// A description; backticks mark code.
pub(super) fn parse_terms(description: &Value) -> SearchTerms {
    let parts = description.as_str().unwrap_or_default().split('`').enumerate();
    let pieces = parts.filter(|(_, part)| !part.is_empty()).map(|(position, part)| {
        if position % 2 == 1 { Piece::Code(part.to_owned()) } else { Piece::Text(part.to_owned()) }
    });
    SearchTerms(pieces.collect())
}

/// A longer description; empty lines separate paragraphs.
pub(super) fn paragraphs(description: &Value) -> Vec<SearchTerms> {
    let text = description.as_str().unwrap_or_default();
    text.split("\n\n").filter(|part| !part.is_empty()).map(|part| parse_terms(&part.into())).collect()
}
