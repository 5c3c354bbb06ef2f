//! EVM addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The text is not an address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an address: write 0x followed by 40 hex characters")]
pub struct InvalidAddress;

/// A 20-byte EVM address. Displayed in lower case with `0x`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EvmAddress(pub [u8; 20]);

const HEX: &[u8; 16] = b"0123456789abcdef";

impl EvmAddress {
    /// The 42 ASCII characters of the display form.
    pub fn to_ascii(self) -> [u8; 42] {
        let mut text = [b'0'; 42];
        text[1] = b'x';
        for (pair, byte) in text[2..].as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
        }
        text
    }
}

impl FromStr for EvmAddress {
    type Err = InvalidAddress;

    /// Parses `0x` and 40 hexadecimal digits in any case. A checksum (ERC-55) is not required.
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let digits = text.strip_prefix("0x").ok_or(InvalidAddress)?.as_bytes();
        if digits.len() != 40 {
            return Err(InvalidAddress);
        }
        let mut address = [0; 20];
        for (byte, pair) in address.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(address))
    }
}

fn nibble(digit: u8) -> Result<u8, InvalidAddress> {
    let value = char::from(digit).to_digit(16).ok_or(InvalidAddress)?;
    u8::try_from(value).map_err(|_| InvalidAddress)
}

impl TryFrom<String> for EvmAddress {
    type Error = InvalidAddress;

    fn try_from(text: String) -> Result<Self, InvalidAddress> {
        text.parse()
    }
}

impl From<EvmAddress> for String {
    fn from(address: EvmAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for EvmAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ascii().iter().try_for_each(|&byte| fmt::Write::write_char(f, char::from(byte)))
    }
}

impl fmt::Debug for EvmAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_case_is_read_and_lower_case_is_written() {
        let address: EvmAddress = "0x52908400098527886E0F7030069857D2E4169EE7".parse().unwrap();
        assert_eq!(address.to_string(), "0x52908400098527886e0f7030069857d2e4169ee7");
        assert_eq!(address.0[0], 0x52);
        assert_eq!(address.0[19], 0xe7);
    }

    #[test]
    fn a_wrong_checksum_is_accepted() {
        assert!("0x52908400098527886E0F7030069857D2E4169Ee7".parse::<EvmAddress>().is_ok());
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "0x",
            "vitalik.eth",
            "52908400098527886e0f7030069857d2e4169ee7",
            "0X52908400098527886e0f7030069857d2e4169ee7",
            "0x52908400098527886e0f7030069857d2e4169ee",
            "0x52908400098527886e0f7030069857d2e4169ee70",
            "0x52908400098527886e0f7030069857d2e4169eeg",
            "0x+2908400098527886e0f7030069857d2e4169ee7",
            " 0x52908400098527886e0f7030069857d2e4169ee7",
            "0x52908400098527886e0f7030069857d2e4169e\u{e9}",
        ] {
            assert_eq!(text.parse::<EvmAddress>(), Err(InvalidAddress), "{text:?}");
        }
    }
}
