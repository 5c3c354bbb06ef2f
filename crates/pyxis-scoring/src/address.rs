//! Addresses as applications and people write them. A mixed-case address carries a checksum (ERC-55); a wrong checksum
//! reveals a typo.

use pyxis_core::address::{EvmAddress, InvalidAddress};
use pyxis_signing::eip712::abi_words::keccak;

/// The text is not an address, or not the intended one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WrongAddress {
    /// Not an address.
    #[error(transparent)]
    Form(#[from] InvalidAddress),
    /// Mixed case that does not match the checksum.
    #[error("wrong checksum (ERC-55): look for a typo, or write it in lower case")]
    Checksum,
}

/// Parses an address in lower case, upper case or checksum case.
pub fn read(text: &str) -> Result<EvmAddress, WrongAddress> {
    let address: EvmAddress = text.parse()?;
    let digits = &text.as_bytes()[2..];
    let is_mixed = digits.iter().any(u8::is_ascii_lowercase) && digits.iter().any(u8::is_ascii_uppercase);
    if is_mixed && !has_checksum(address, digits) { Err(WrongAddress::Checksum) } else { Ok(address) }
}

/// True if the case of each letter matches the checksum.
fn has_checksum(address: EvmAddress, digits: &[u8]) -> bool {
    checksummed(address).as_bytes()[2..] == *digits
}

/// The address with its checksum: a letter is upper case where the hash of the address has a nibble above seven.
pub fn checksummed(address: EvmAddress) -> String {
    let lower = address.to_ascii();
    let hash = keccak(&lower[2..]);
    let nibbles = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let cased = |(digit, nibble): (&u8, u8)| {
        char::from(if nibble >= 8 { digit.to_ascii_uppercase() } else { *digit })
    };
    "0x".chars().chain(lower[2..].iter().zip(nibbles).map(cased)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples from ERC-55.
    const SUMMED: [&str; 4] = [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ];

    #[test]
    fn lower_case_upper_case_and_the_checksum_are_read() {
        for text in SUMMED {
            let address = read(text).unwrap();
            assert_eq!(read(&text.to_lowercase()), Ok(address));
            assert_eq!(read(&format!("0x{}", text[2..].to_uppercase())), Ok(address));
        }
        assert!(read("0x1111111111111111111111111111111111111111").is_ok());
        assert!(read("0x52908400098527886E0F7030069857D2E4169EE7").is_ok());
    }

    #[test]
    fn any_other_mixture_is_a_typing_error() {
        for text in SUMMED {
            for place in 2..text.len() {
                let mut other = text.as_bytes().to_vec();
                other[place] ^= if other[place].is_ascii_alphabetic() { 0x20 } else { 0 };
                let other = String::from_utf8(other).unwrap();
                let wanted =
                    if other == text { Ok(read(text).unwrap()) } else { Err(WrongAddress::Checksum) };
                assert_eq!(read(&other), wanted, "{other}");
            }
        }
        assert_eq!(read("0x52908400098527886E0F7030069857D2E4169Ee7"), Err(WrongAddress::Checksum));
        for text in ["", "0x", "vitalik.eth", "0x12", &SUMMED[0][2..]] {
            assert!(matches!(read(text), Err(WrongAddress::Form(_))), "{text}");
        }
    }
}
