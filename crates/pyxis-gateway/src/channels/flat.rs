//! Text of others within one line.

use pyxis_core::preview::visible;

/// A character of others within a line: blanks become spaces, and signs that cannot be seen become visible.
pub(super) fn flat(c: char) -> char {
    if c.is_whitespace() { ' ' } else { visible(c) }
}
