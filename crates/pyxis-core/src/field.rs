//! Numbers below the order of the bn254 scalar field, which proof circuits compute in.
//!
//! Nullifiers and action ids are such numbers. They are parsed once and compared as numbers. So another spelling (case,
//! prefix, leading zeros, the number plus the order) never gives another number.

use std::fmt;
use std::str::FromStr;

/// The order of the field: r of bn254, big-endian.
const ORDER: [u8; 32] = [
    0x30, 0x64, 0x4e, 0x72, 0xe1, 0x31, 0xa0, 0x29, 0xb8, 0x50, 0x45, 0xb6, 0x81, 0x81, 0x58, 0x5d, 0x28,
    0x33, 0xe8, 0x48, 0x79, 0xb9, 0x70, 0x91, 0x43, 0xe1, 0xf5, 0x93, 0xf0, 0x00, 0x00, 0x01,
];
/// Maximum number of decimal digits, which is the number of digits of the order.
const MAX_DIGITS: usize = 77;

/// The text is not a number of the field.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a number below the order of the bn254 scalar field")]
pub struct NotInField;

/// A number below the order of the bn254 scalar field. Displayed in decimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldElement([u8; 32]);

impl FieldElement {
    /// From 32 bytes, big-endian; `None` for the order and anything above it.
    pub fn from_be_bytes(bytes: [u8; 32]) -> Option<Self> {
        (bytes < ORDER).then_some(Self(bytes))
    }

    pub const fn small(number: u64) -> Self {
        let (mut bytes, number) = ([0; 32], number.to_be_bytes());
        let mut index = 0;
        while index < 8 {
            bytes[24 + index] = number[index];
            index += 1;
        }
        Self(bytes)
    }

    /// 32 bytes, big-endian.
    pub const fn to_be_bytes(self) -> [u8; 32] {
        self.0
    }

    /// Parses 1 to 77 decimal digits and nothing else; leading zeros are ignored.
    pub fn from_decimal(text: &str) -> Result<Self, NotInField> {
        if !(1..=MAX_DIGITS).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotInField);
        }
        text.bytes().try_fold([0; 32], |number, digit| shift(number, 10, digit - b'0')).and_then(below_order)
    }

    fn from_hex(digits: &str) -> Result<Self, NotInField> {
        if !(1..=64).contains(&digits.len()) {
            return Err(NotInField);
        }
        let mut number = [0; 32];
        for digit in digits.chars() {
            let value = digit.to_digit(16).and_then(|value| u8::try_from(value).ok()).ok_or(NotInField)?;
            number = shift(number, 16, value)?;
        }
        below_order(number)
    }
}

/// `number * base + digit`.
fn shift(mut number: [u8; 32], base: u16, digit: u8) -> Result<[u8; 32], NotInField> {
    let mut carry = u16::from(digit);
    for byte in number.iter_mut().rev() {
        let value = u16::from(*byte) * base + carry;
        let [high, low] = value.to_be_bytes();
        (*byte, carry) = (low, u16::from(high));
    }
    if carry == 0 { Ok(number) } else { Err(NotInField) }
}

fn below_order(number: [u8; 32]) -> Result<FieldElement, NotInField> {
    FieldElement::from_be_bytes(number).ok_or(NotInField)
}

impl FromStr for FieldElement {
    type Err = NotInField;

    /// Decimal, or `0x` and hexadecimal digits of any case.
    fn from_str(text: &str) -> Result<Self, NotInField> {
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => Self::from_hex(digits),
            None => Self::from_decimal(text),
        }
    }
}

impl fmt::Display for FieldElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut digits = Vec::with_capacity(MAX_DIGITS);
        loop {
            let mut remainder = 0_u16;
            for byte in &mut rest {
                let value = remainder << 8 | u16::from(*byte);
                *byte = (value / 10).to_be_bytes()[1];
                remainder = value % 10;
            }
            digits.push(b'0' + remainder.to_be_bytes()[1]);
            if rest == [0; 32] {
                break;
            }
        }
        digits.iter().rev().try_for_each(|&digit| fmt::Write::write_char(f, char::from(digit)))
    }
}

impl fmt::Debug for FieldElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LAST: &str = "21888242871839275222246405745257275088548364400416034343698204186575808495616";
    const FIRST_OUTSIDE: &str =
        "21888242871839275222246405745257275088548364400416034343698204186575808495617";

    #[test]
    fn every_spelling_of_a_number_is_the_same_number() {
        let wanted = FieldElement::small(123_456_789);
        for text in ["123456789", "000123456789", "0x75bcd15", "0X75BCD15", "0x000075bCd15"] {
            assert_eq!(text.parse(), Ok(wanted), "{text}");
        }
        assert_eq!(wanted.to_string(), "123456789");
        assert_eq!(FieldElement::small(0).to_string(), "0");
    }

    #[test]
    fn the_order_and_everything_above_is_refused() {
        assert_eq!(LAST.parse::<FieldElement>().unwrap().to_string(), LAST);
        let all_bits = format!("0x{}", "f".repeat(64));
        let nines = "9".repeat(77);
        for text in [FIRST_OUTSIDE, &all_bits, &nines, &"1".repeat(78), &format!("0x{}", "0".repeat(65))] {
            assert_eq!(text.parse::<FieldElement>(), Err(NotInField), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "0x", "-1", "+1", "1.0", "1e3", " 1", "1 ", "0x-1", "abc", "١", "1_000"] {
            assert_eq!(text.parse::<FieldElement>(), Err(NotInField), "{text:?}");
        }
        assert_eq!(FieldElement::from_decimal("0x1"), Err(NotInField));
    }

    proptest! {
        #[test]
        fn decimal_reads_back(bytes: [u8; 32]) {
            let mut bytes = bytes;
            bytes[0] &= 0x1f;
            let number = FieldElement::from_be_bytes(bytes).unwrap();
            prop_assert_eq!(number.to_string().parse(), Ok(number));
        }
    }
}
