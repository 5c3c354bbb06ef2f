//! Data that is to be hashed, in whatever form its reader has it.

use serde_json::{Map, Value};

use super::words::{self, Word};

/// A value.
pub trait Data: Sized {
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
    type Value: Data<Object = Self>;

    /// The member of a name.
    fn member(&self, name: &str) -> Option<&Self::Value>;
    /// Every name.
    fn names(&self) -> impl Iterator<Item = &str>;
    /// How many there are.
    fn count(&self) -> usize;
}

impl Data for Value {
    type Object = Map<String, Self>;

    fn text(&self) -> Option<&str> {
        self.as_str()
    }

    fn boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn list(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn object(&self) -> Option<&Map<String, Self>> {
        self.as_object()
    }

    /// A JSON integer, decimal text or `0x` text. A JSON number beyond 64 bits has lost digits before it gets
    /// here, so it is none: large ones are texts.
    fn integer(&self, signed: bool, bits: u32) -> Option<Word> {
        let text = match self {
            Self::Number(number) if number.is_i64() || number.is_u64() => number.to_string(),
            Self::String(text) => text.clone(),
            _ => return None,
        };
        let (negative, digits) =
            text.strip_prefix('-').map_or((false, text.as_str()), |digits| (true, digits));
        let magnitude = match digits.strip_prefix("0x") {
            Some(hex) => from_digits(hex, 16)?,
            None => from_digits(digits, 10)?,
        };
        words::integer(magnitude, negative, signed, bits)
    }
}

impl Members for Map<String, Value> {
    type Value = Value;

    fn member(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.keys().map(String::as_str)
    }

    fn count(&self) -> usize {
        self.len()
    }
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
