//! Secret values that cannot be printed by accident.

use std::fmt;

use serde::{Deserialize, Deserializer};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::preview::visible;

/// A value that is wiped when dropped, has no `Display` and shows nothing in `Debug`.
#[derive(Clone, Default)]
pub struct Secret<T: Zeroize>(Zeroizing<T>);

/// Secret text.
pub type SecretString = Secret<String>;
pub type SecretBytes = Secret<Vec<u8>>;

impl<T: Zeroize> Secret<T> {
    /// Takes ownership of `value`.
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    /// Exposes the value. Review every call site.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<T: Zeroize + AsRef<[u8]>> Secret<T> {
    /// Compares in time that depends only on the lengths.
    pub fn matches(&self, candidate: &[u8]) -> bool {
        self.0.as_ref().ct_eq(candidate).into()
    }
}

impl<'de, T: Zeroize + Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

/// Reasons for refusing a text as a secret. Reveals only the position, not the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEntry {
    /// A character that no key or password has.
    #[error(
        "has the invisible character U+{code:04X} at character {at}; remove it (only PEM keys may have several lines)"
    )]
    Control {
        /// The code point.
        code: u32,
        /// Position of the character, from 1.
        at: usize,
    },
    /// Nothing, or only a byte order mark, blanks and line ends.
    #[error("is empty")]
    Empty,
}

/// A secret as it was meant. It lacks the byte order mark that editors put before it, and the line ends that
/// editors and shells put after it. Every path by which a secret enters calls this.
///
/// # Errors
/// For invisible characters inside: control and formatting characters, and separators of lines and paragraphs. A PEM
/// key may have line ends and tabs.
pub fn clean_input(text: &str) -> Result<&str, BadEntry> {
    let meant = text.strip_prefix(BOM).unwrap_or(text).trim_end_matches(['\r', '\n']);
    let lines = meant.contains("-----BEGIN ");
    let bad = |c: char| {
        if matches!(c, '\r' | '\n' | '\t') { !lines } else { visible(c) != c }
    };
    match meant.chars().enumerate().find(|(_, c)| bad(*c)) {
        Some((at, c)) => Err(BadEntry::Control { code: c.into(), at: at + 1 }),
        None => Ok(meant),
    }
}

/// Like [`clean_input`], for a required secret.
///
/// # Errors
/// Like [`clean_input`], and for an empty text.
pub fn entered_some(text: &str) -> Result<&str, BadEntry> {
    match clean_input(text)? {
        meant if meant.trim().is_empty() => Err(BadEntry::Empty),
        meant => Ok(meant),
    }
}

/// Beginnings of the secret keys and tokens of Pyxis. Publishable keys (`px_pub_`), placeholders and ids of OAuth
/// clients are no secrets.
const KEY_PREFIXES: [&[u8]; 10] = [
    b"px_agent_",
    b"px_api_",
    b"px_pat_",
    b"px_session_",
    b"px_run_",
    b"px_access_",
    b"px_refresh_",
    b"px_code_",
    b"px_client_secret_",
    b"px_wid_",
];
/// Fewest characters that follow a prefix in a key. Names of files and variables that begin alike are shorter.
const KEY_LENGTH: usize = 16;

/// True if `text` holds what has the shape of a secret key or token of Pyxis: a prefix and at least 16 hexadecimal
/// digits.
pub fn holds_key(text: &[u8]) -> bool {
    let begins = |text: &[u8]| {
        let rest = KEY_PREFIXES.iter().find_map(|prefix| text.strip_prefix(*prefix));
        rest.and_then(|rest| rest.get(..KEY_LENGTH)).is_some_and(|key| key.iter().all(u8::is_ascii_hexdigit))
    };
    (0..text.len()).any(|at| begins(&text[at..]))
}

const BOM: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_keys_of_each_kind_are_recognized_and_what_only_begins_alike_is_not() {
        let digits = "0123456789abcdef".repeat(4);
        for prefix in KEY_PREFIXES {
            let key = [b"Bearer ", prefix, digits.as_bytes(), b"; more"].concat();
            assert!(holds_key(&key), "{}", String::from_utf8_lossy(prefix));
        }
        for text in [
            format!("px_pub_{digits}"),
            format!("px_placeholder_{digits}"),
            format!("px_client_{digits}"),
            "/srv/px_agent_tools/bin".to_owned(),
            "px_agent_".to_owned(),
            String::new(),
        ] {
            assert!(!holds_key(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_editors_and_shells_add_is_cut() {
        for text in ["key", "\u{feff}key", "key\n", "key\r\n", "\u{feff}key\r\n\n"] {
            assert_eq!(clean_input(text), Ok("key"), "{text:?}");
        }
        assert_eq!(clean_input(" key \n"), Ok(" key "));
        assert_eq!((clean_input("\u{feff}\n"), entered_some("\u{feff}\n")), (Ok(""), Err(BadEntry::Empty)));
        assert_eq!(entered_some("        "), Err(BadEntry::Empty));
    }

    #[test]
    fn control_characters_inside_are_refused_by_their_place_and_never_by_what_stands_around() {
        let cases = [
            "k\u{200b}zq",
            "k\u{202e}zq",
            "k\nzq",
            "k\0zq",
            "k\tzq",
            "k\u{7f}zq",
            "k\u{85}zq",
            "k\u{feff}zq",
            "k\u{2028}zq",
            "k\u{1b}[0m",
        ];
        for text in cases {
            let error = clean_input(text).unwrap_err();
            assert!(matches!(error, BadEntry::Control { at: 2, .. }), "{text:?}: {error}");
            assert!(!error.to_string().contains("zq"), "{error}");
        }
        assert_eq!(clean_input("key\t"), Err(BadEntry::Control { code: 9, at: 4 }));
        assert_eq!(clean_input("Zürich-😀-\u{a0}"), Ok("Zürich-😀-\u{a0}"));
    }

    #[test]
    fn a_key_in_pem_keeps_its_lines_and_nothing_else() {
        let pem = "-----BEGIN PRIVATE KEY-----\r\nMIIE\r\n-----END PRIVATE KEY-----";
        assert_eq!(clean_input(&format!("\u{feff}{pem}\r\n")), Ok(pem));
        assert!(clean_input("-----BEGIN PRIVATE KEY-----\nMI\0E\n-----END PRIVATE KEY-----").is_err());
    }

    #[test]
    fn debug_shows_nothing_of_the_value() {
        let secret = SecretString::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert!(secret.matches(b"hunter2"));
        assert!(!secret.matches(b"hunter3"));
    }
}
