//! Numbers of 256 bits, as contracts hold them and people write them.

use pyxis_core::hex;
use pyxis_evm::AbiWord;

/// A whole number: decimal digits, or `0x` and up to 64 hexadecimal digits.
pub(crate) fn read(text: &str) -> Option<AbiWord> {
    match text.strip_prefix("0x") {
        Some(digits) => hexadecimal(digits),
        None => decimal(text),
    }
}

fn hexadecimal(digits: &str) -> Option<AbiWord> {
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    let bytes = hex::decode(&format!("{digits:0>64}"))?;
    bytes.try_into().ok()
}

fn decimal(digits: &str) -> Option<AbiWord> {
    if digits.is_empty() || digits.len() > 78 {
        return None;
    }
    let mut word: AbiWord = [0; 32];
    for digit in digits.bytes() {
        let mut carry = u16::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        for byte in word.iter_mut().rev() {
            let value = u16::from(*byte) * 10 + carry;
            let [high, low] = value.to_be_bytes();
            (*byte, carry) = (low, u16::from(high));
        }
        if carry > 0 {
            return None;
        }
    }
    Some(word)
}

/// The number in decimal digits.
pub(crate) fn to_decimal(word: &AbiWord) -> String {
    let (mut rest, mut digits) = (*word, Vec::new());
    loop {
        let mut remainder = 0;
        for byte in &mut rest {
            let value = remainder << 8 | u16::from(*byte);
            remainder = value % 10;
            *byte = u8::try_from(value / 10).unwrap_or_default();
        }
        digits.push(b'0' + u8::try_from(remainder).unwrap_or_default());
        if rest == [0; 32] {
            digits.reverse();
            return digits.into_iter().map(char::from).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_and_shown_up_to_256_bits_and_not_beyond() {
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        for text in ["0", "7", "256", "1000000000000000000", most] {
            assert_eq!(to_decimal(&read(text).unwrap()), text);
        }
        assert_eq!(read("0xFf"), read("255"));
        assert_eq!(read(most), Some([0xff; 32]));
        let over = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        let long = format!("0x1{}", "0".repeat(64));
        for text in ["", "-1", "1.5", "1e3", "0x", "0xg", " 1", over, &long] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(read("9").unwrap() < read("10").unwrap());
    }
}
