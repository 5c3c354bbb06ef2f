//! Sui addresses.

use std::fmt;
use std::str::FromStr;

/// The text is not a Sui address.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a Sui address: write 0x followed by up to 64 hex characters")]
pub struct InvalidSuiAddress;

/// A 32-byte Sui address. Displayed in full, in lower case with `0x`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SuiAddress(pub [u8; 32]);

impl FromStr for SuiAddress {
    type Err = InvalidSuiAddress;

    /// `0x` and 1 to 64 hexadecimal digits in any case; a short form is padded with leading zeros.
    fn from_str(text: &str) -> Result<Self, InvalidSuiAddress> {
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or(InvalidSuiAddress)?;
        if !(1..=64).contains(&digits.len()) {
            return Err(InvalidSuiAddress);
        }
        let mut address = [0_u8; 32];
        for (position, digit) in digits.chars().rev().enumerate() {
            let value = digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
            address[31 - position / 2] |= value.ok_or(InvalidSuiAddress)? << (4 * (position % 2));
        }
        Ok(Self(address))
    }
}

impl fmt::Display for SuiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", crate::hex::encode(&self.0))
    }
}

impl fmt::Debug for SuiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_are_padded_in_front() {
        let padded = format!("0x{}2", "0".repeat(63));
        assert_eq!("0x2".parse::<SuiAddress>().unwrap().to_string(), padded);
        assert_eq!("0xABC".parse::<SuiAddress>().unwrap().0[30..], [0x0a, 0xbc]);
        assert_eq!(padded.parse::<SuiAddress>(), "0x02".parse());
        let full = format!("0x0{}", "aB".repeat(31) + "c");
        for same in [full.replacen("0x0", "0x", 1), full.to_uppercase(), full.to_lowercase()] {
            assert_eq!(same.parse::<SuiAddress>(), full.parse(), "{same}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("0x{}", "1".repeat(65));
        for text in ["", "0x", "2", "0X", "0x0x2", "0xg", "0x+1", " 0x2", "0x2 ", &long, "0x\u{e9}"] {
            assert_eq!(text.parse::<SuiAddress>(), Err(InvalidSuiAddress), "{text:?}");
        }
    }
}
