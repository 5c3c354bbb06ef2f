//! Types and values of EIP-712.

use serde_json::Value;
use sha3::{Digest, Keccak256};

use crate::payload::from_hex;

/// Most dimensions of an array.
const MAX_DIMENSIONS: usize = 4;

/// What a member holds.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text,
    Bool,
    Address,
    Bytes,
    FixedBytes(usize),
    Integer {
        signed: bool,
        bits: usize,
    },
    Struct(String),
    /// Of any length, or of exactly this.
    Array(Box<Self>, Option<usize>),
}

impl Kind {
    /// Reads a type; `is_struct` tells which names are given.
    pub(super) fn parse(name: &str, is_struct: &dyn Fn(&str) -> bool) -> Option<Self> {
        Self::nested(name, is_struct, MAX_DIMENSIONS)
    }

    fn nested(name: &str, is_struct: &dyn Fn(&str) -> bool, dimensions: usize) -> Option<Self> {
        if let Some(array) = name.strip_suffix(']') {
            let (element, length) = array.rsplit_once('[')?;
            let length = if length.is_empty() { None } else { Some(number(length)?) };
            let element = Self::nested(element, is_struct, dimensions.checked_sub(1)?)?;
            return Some(Self::Array(Box::new(element), length));
        }
        Self::plain(name).or_else(|| is_struct(name).then(|| Self::Struct(name.to_owned())))
    }

    /// The standard types that are not made of others.
    pub(super) fn plain(name: &str) -> Option<Self> {
        let integer = |bits: &str, signed| {
            let bits = if bits.is_empty() { 256 } else { number(bits)? };
            // `uint` alone is not a type of the standard: its type string would be another one.
            (name.ends_with(char::is_numeric) && bits % 8 == 0 && (8..=256).contains(&bits))
                .then_some(Self::Integer { signed, bits })
        };
        match name {
            "string" => Some(Self::Text),
            "bool" => Some(Self::Bool),
            "address" => Some(Self::Address),
            "bytes" => Some(Self::Bytes),
            _ => {
                if let Some(length) = name.strip_prefix("bytes") {
                    number(length).filter(|length| (1..=32).contains(length)).map(Self::FixedBytes)
                } else if let Some(bits) = name.strip_prefix("uint") {
                    integer(bits, false)
                } else {
                    integer(name.strip_prefix("int")?, true)
                }
            }
        }
    }

    pub(super) fn as_struct(&self) -> Option<&str> {
        match self {
            Self::Struct(name) => Some(name),
            Self::Array(kind, _) => kind.as_struct(),
            _ => None,
        }
    }
}

/// `encodeData` of a value that is neither array nor struct; `None` if its type does not allow it.
pub(super) fn encode_plain(kind: &Kind, value: &Value) -> Option<[u8; 32]> {
    let mut word = [0; 32];
    match (kind, value) {
        (Kind::Text, Value::String(text)) => word = Keccak256::digest(text.as_bytes()).into(),
        (Kind::Bool, Value::Bool(value)) => word[31] = u8::from(*value),
        (Kind::Address, Value::String(text)) => {
            word[12..].copy_from_slice(&prefixed(text).filter(|data| data.len() == 20)?);
        }
        (Kind::Bytes, Value::String(text)) => word = Keccak256::digest(prefixed(text)?).into(),
        (Kind::FixedBytes(length), Value::String(text)) => {
            word[..*length].copy_from_slice(&prefixed(text).filter(|data| data.len() == *length)?);
        }
        (Kind::Integer { signed, bits }, _) => word = integer(value, *signed, *bits)?,
        _ => return None,
    }
    Some(word)
}

/// The value as a person reads it.
pub(super) fn shown_plain(kind: &Kind, value: &Value) -> String {
    match (kind, value) {
        (_, Value::String(text)) => text.clone(),
        _ => value.to_string(),
    }
}

/// A decimal number without sign or leading zero.
fn number(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

fn prefixed(text: &str) -> Option<Vec<u8>> {
    text.starts_with("0x").then(|| from_hex(text)).flatten()
}

/// An integer as a JSON integer, decimal text or `0x` text, in two's complement. A JSON number beyond 64
/// bits has lost digits before it gets here, so it is refused: large ones are texts.
fn integer(value: &Value, signed: bool, bits: usize) -> Option<[u8; 32]> {
    let text = match value {
        Value::Number(number) if number.is_i64() || number.is_u64() => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let (negative, digits) = text.strip_prefix('-').map_or((false, text.as_str()), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => from_digits(hex, 16)?,
        None => from_digits(digits, 10)?,
    };
    if !fits(&magnitude, negative, signed, bits) {
        return None;
    }
    Some(if negative { negated(magnitude) } else { magnitude })
}

fn from_digits(digits: &str, radix: u32) -> Option<[u8; 32]> {
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

/// Whether a magnitude is within the range of its type.
fn fits(magnitude: &[u8; 32], negative: bool, signed: bool, bits: usize) -> bool {
    let used = 256
        - magnitude
            .iter()
            .position(|byte| *byte != 0)
            .map_or(256, |index| 8 * index + usize::try_from(magnitude[index].leading_zeros()).unwrap_or(0));
    if !signed {
        return !negative && used <= bits || used == 0;
    }
    // The least value of n bits is -2^(n-1), one more than the largest.
    let least = used == bits && magnitude.iter().map(|byte| byte.count_ones()).sum::<u32>() == 1;
    used < bits || (negative && least)
}

fn negated(mut word: [u8; 32]) -> [u8; 32] {
    let mut carry = true;
    for byte in word.iter_mut().rev() {
        let (sum, overflow) = (!*byte).overflowing_add(u8::from(carry));
        (*byte, carry) = (sum, overflow);
    }
    word
}
