//! Secret values that cannot be printed by accident.

use std::fmt;

use serde::{Deserialize, Deserializer};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

/// A value that is wiped when dropped, has no `Display` and shows nothing in `Debug`.
#[derive(Clone, Default)]
pub struct Secret<T: Zeroize>(Zeroizing<T>);

/// Secret text.
pub type SecretString = Secret<String>;
/// Secret bytes.
pub type SecretBytes = Secret<Vec<u8>>;

impl<T: Zeroize> Secret<T> {
    /// Takes `value` into custody.
    pub fn new(value: T) -> Self {
        Self(Zeroizing::new(value))
    }

    /// Shows the value. Every call site is a place to review.
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
    /// Compares in time that depends on the lengths only.
    pub fn matches(&self, candidate: &[u8]) -> bool {
        self.0.as_ref().ct_eq(candidate).into()
    }
}

impl<'de, T: Zeroize + Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_value() {
        let secret = SecretString::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert!(secret.matches(b"hunter2"));
        assert!(!secret.matches(b"hunter3"));
    }
}
