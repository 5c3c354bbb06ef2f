//! Data that is to be hashed, in whatever form its reader has it.

use super::words::{self, Word};

/// A value.
pub trait TypedValue: Sized {
    /// An object of such values.
    type Object: Members<Value = Self>;

    /// The text, if it is one.
    fn text(&self) -> Option<&str>;
    /// True or false, if it is one of them.
    fn boolean(&self) -> Option<bool>;
    /// The items, if it is a list.
    fn list(&self) -> Option<&[Self]>;
    /// The object, if it is one.
    fn object(&self) -> Option<&Self::Object>;
    /// In two's complement, if it is an integer of such a type.
    fn integer(&self, signed: bool, bits: u32) -> Option<Word>;
}

/// The members of an object; no name stands there twice.
pub trait Members {
    /// What they are.
    type Value: TypedValue<Object = Self>;

    /// The member of a name.
    fn member(&self, name: &str) -> Option<&Self::Value>;
    /// Every name.
    fn names(&self) -> impl Iterator<Item = &str>;
    /// Number of members.
    fn count(&self) -> usize;
}

/// An integer as JSON numbers and texts spell it, in two's complement: decimal digits, or hexadecimal ones behind `0x`,
/// either with a minus sign in front. `None` for other spellings, such as fractions and exponents, and for what is beyond
/// the range of the type.
pub fn integer(spelling: &str, signed: bool, bits: u32) -> Option<Word> {
    let (negative, digits) = spelling.strip_prefix('-').map_or((false, spelling), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => from_digits(hex, 16)?,
        None => from_digits(digits, 10)?,
    };
    words::integer(magnitude, negative, signed, bits)
}

fn from_digits(digits: &str, radix: u32) -> Option<Word> {
    if digits.is_empty() {
        return None;
    }
    let mut word = [0_u8; 32];
    for digit in digits.chars() {
        let mut carry = digit.to_digit(radix)?;
        for byte in word.iter_mut().rev() {
            let product = u32::from(*byte) * radix + carry;
            *byte = u8::try_from(product & 0xff).ok()?;
            carry = product >> 8;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(word)
}
