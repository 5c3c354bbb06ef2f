//! Text of others within one line.

use pyxis_core::preview::visible;

/// A character of others within a line: blanks become spaces, and signs that cannot be seen become visible.
pub(super) fn flat(c: char) -> char {
    if c.is_whitespace() { ' ' } else { visible(c) }
}

/// Longest single-line field, in characters.
const LINE: usize = 700;

/// True if [`one_line`] cuts nothing off.
pub(super) fn fits(text: &str) -> bool {
    text.chars().nth(LINE).is_none()
}

/// Text of others on one line, with signs that cannot be seen made visible, and not too long.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text.chars().take(LINE).map(flat).collect();
    if !fits(text) {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_on_its_line_and_ends_somewhere() {
        assert_eq!(one_line("a\nSecured by\u{202e} me"), "a Secured by\u{fffd} me");
        assert_eq!(one_line(&"é".repeat(LINE + 1)).chars().count(), LINE + 1);
    }
}
