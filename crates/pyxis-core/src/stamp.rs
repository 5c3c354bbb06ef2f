//! Stamps: their names, and the nullifiers that reveal a repeated verification.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name of a Stamp, in bytes.
pub const MAX_STAMP_NAME: usize = 200;
/// Longest nullifier, in bytes.
pub const MAX_NULLIFIER: usize = 256;

/// The text is not a Stamp name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a Stamp name: use 1 to {MAX_STAMP_NAME} printable ASCII characters without spaces")]
pub struct InvalidStampName;

/// The text is not a nullifier.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a nullifier: use 1 to {MAX_NULLIFIER} bytes of printable text")]
pub struct InvalidNullifier;

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $error:ident, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text as it was signed.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) { Ok(Self(text)) } else { Err($error) }
            }
        }

        impl FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        /// Lets callers look up the plain text in maps and sets keyed by this type.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

text!(
    /// The kind of evidence in a credential: its signed `provider`, for example `Discord` or `NFTScore#50`. At most
    /// [`MAX_STAMP_NAME`] printable ASCII characters, no space; case matters.
    StampName,
    InvalidStampName,
    |text| (1..=MAX_STAMP_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
);
text!(
    /// A value that an issuer derives from the account behind a credential. The same value at two addresses means that
    /// one account was verified twice. At most [`MAX_NULLIFIER`] bytes of UTF-8, not blank. No control characters, and
    /// no white space other than the plain space; compared byte for byte.
    Nullifier,
    InvalidNullifier,
    |text| {
        (1..=MAX_NULLIFIER).contains(&text.len())
            && !text.trim().is_empty()
            && !text.chars().any(|char| char != ' ' && (char.is_whitespace() || char.is_control()))
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_issuers_write_them_are_read() {
        for name in ["Discord", "NFTScore#50", "GitcoinContributorStatistics#totalContributionAmountGte#10"] {
            assert_eq!(name.parse::<StampName>().unwrap().as_str(), name);
        }
        assert!("x".repeat(MAX_STAMP_NAME).parse::<StampName>().is_ok());
    }

    #[test]
    fn other_texts_are_no_names() {
        let long = "x".repeat(MAX_STAMP_NAME + 1);
        for name in ["", " ", "Disc ord", "Discord\n", "Discord\0", "D\u{ed}scord", &long] {
            assert_eq!(name.parse::<StampName>(), Err(InvalidStampName), "{name:?}");
        }
    }

    #[test]
    fn nullifiers_are_bounded_and_printable() {
        for text in ["v0.0.0:eu7RH6ZXAtRhUm3wQ3jfMVYoJ18sXynFm2AvsjsT9FQ=", "v0:Google:0xaa:n", "\u{fc}"] {
            assert_eq!(text.parse::<Nullifier>().unwrap().to_string(), text);
        }
        assert!("n".repeat(MAX_NULLIFIER).parse::<Nullifier>().is_ok());
        let long = "n".repeat(MAX_NULLIFIER + 1);
        for text in ["", " ", "a\u{a0}b", "a\u{7f}", "a\tb", &long] {
            assert_eq!(text.parse::<Nullifier>(), Err(InvalidNullifier), "{text:?}");
        }
    }

    #[test]
    fn json_is_the_bare_text_and_is_checked() {
        let name: StampName = serde_json::from_str("\"Ens\"").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"Ens\"");
        assert!(serde_json::from_str::<StampName>("\"\"").is_err());
        assert!(serde_json::from_str::<Nullifier>("\"a\\nb\"").is_err());
    }
}
