//! Credentials as EIP-712 data: the interface between their reader and the hasher.

use pyxis_signing::eip712::{
    self, AbiWord, HashObserver, Hasher, Invalid, Members, TypedValue, Types, abi_words,
};

use super::hash_cache;
use super::json::{JsonNode, Object};
use super::rejection::Rejection;

/// Maximum number of types in one credential.
const MAX_TYPES: usize = 16;

/// The types that a credential defines.
pub(super) fn types(given: &Object<'_>) -> Result<Types, Rejection> {
    Types::parse(given, MAX_TYPES).map_err(Rejection::from)
}

/// `hashStruct` of an object of the type `name`.
pub(super) fn hash_struct(types: &Types, name: &str, object: &Object<'_>) -> Result<AbiWord, Rejection> {
    Ok(Hasher::new(types, Recurring).hash_struct(name, object)?)
}

/// Half of a credential's texts occur in every credential.
struct Recurring;

impl HashObserver<JsonNode<'_>> for Recurring {
    fn keccak(&self, data: &[u8]) -> AbiWord {
        hash_cache::keccak(data)
    }
}

impl<'a> TypedValue for JsonNode<'a> {
    type Object = Object<'a>;

    fn text(&self) -> Option<&str> {
        self.as_text()
    }

    fn boolean(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    fn list(&self) -> Option<&[Self]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    fn object(&self) -> Option<&Object<'a>> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    fn integer(&self, signed: bool, bits: u32) -> Option<AbiWord> {
        match self {
            Self::Integer(value) => {
                abi_words::integer(abi_words::number(value.unsigned_abs()), *value < 0, signed, bits)
            }
            Self::Number(text) => eip712::integer(text, signed, bits),
            Self::Text(text) => eip712::integer(text, signed, bits),
            _ => None,
        }
    }
}

impl<'a> Members for Object<'a> {
    type Value = JsonNode<'a>;

    fn member(&self, name: &str) -> Option<&JsonNode<'a>> {
        self.get(name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    fn count(&self) -> usize {
        self.len()
    }
}

impl From<Invalid> for Rejection {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::Missing(path) => Self::missing(&path),
            Invalid::Value { path, expected } => Self::form(&path, expected),
            Invalid::Unsigned(path) => Self::unsigned(&path),
            Invalid::Types(reason) => Self::InvalidTypedData { reason },
            Invalid::UnknownType(_) => {
                Self::InvalidTypedData { reason: "a member has a type that is neither standard nor defined" }
            }
            Invalid::Twice(key) => Self::DuplicateKey { key },
            Invalid::Form => Self::InvalidTypedData { reason: "it is not typed data" },
            Invalid::TooComplex | Invalid::TooLong { .. } => Self::TooComplex,
        }
    }
}

#[cfg(test)]
mod tests;
