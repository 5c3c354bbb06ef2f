//! Data to be hashed, independent of its representation.

use super::abi_words::{self, AbiWord};

/// A value of any kind.
pub trait TypedValue: Sized {
    /// Object type of this representation.
    type Object: Members<Value = Self>;

    /// The string, if the value is one.
    fn text(&self) -> Option<&str>;
    /// The boolean, if the value is one.
    fn boolean(&self) -> Option<bool>;
    /// The items, if the value is a list.
    fn list(&self) -> Option<&[Self]>;
    /// The object, if the value is one.
    fn object(&self) -> Option<&Self::Object>;
    /// The value in two's complement, if it is an integer within the range of the type.
    fn integer(&self, signed: bool, bits: u32) -> Option<AbiWord>;
}

/// The members of an object. Each name occurs once.
pub trait Members {
    /// Type of the member values.
    type Value: TypedValue<Object = Self>;

    /// The member called `name`.
    fn member(&self, name: &str) -> Option<&Self::Value>;
    /// All member names.
    fn names(&self) -> impl Iterator<Item = &str>;
    /// Number of members.
    fn count(&self) -> usize;
}

/// Parses an integer as written in JSON numbers and strings into two's complement. Allowed are decimal digits, or hex
/// digits after `0x`, each with an optional leading minus sign. `None` for other spellings, such as fractions and
/// exponents, and for values outside the range of the type.
pub fn integer(spelling: &str, signed: bool, bits: u32) -> Option<AbiWord> {
    let (negative, digits) = spelling.strip_prefix('-').map_or((false, spelling), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => from_digits(hex, 16)?,
        None => from_digits(digits, 10)?,
    };
    abi_words::integer(magnitude, negative, signed, bits)
}

fn from_digits(digits: &str, radix: u32) -> Option<AbiWord> {
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
