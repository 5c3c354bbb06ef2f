//! EIP-712 typed data, hashed as Ethereum signers do. [`read`] reads data that a person is to sign; the pass that
//! hashes it also lists every field. [`Hasher`] hashes credentials, and [`abi_words`] hashes structures whose types are
//! known at compile time.
//!
//! Two rules beyond the standard ensure that the signer and the reader see the same data. The data has exactly the
//! members that its types name, so nothing unsigned can be attached. Type and member names are plain words, so each
//! type string has only one reading.

pub mod abi_words;
mod data;
mod hasher;
mod invalid;
mod json;
mod structs;

use self::json::{JsonNumberText, Object};

pub use self::abi_words::AbiWord;
pub use self::data::{Members, TypedValue, integer};
pub use self::hasher::{HashObserver, HashStep, Hasher};
pub use self::invalid::Invalid;
pub use self::structs::{DOMAIN, Types, hex};

/// Maximum number of lines shown to a person. Longer data is refused, not truncated.
const MAX_LINES: usize = 2000;
/// Maximum number of struct types in data shown to a person.
const MAX_TYPES: usize = 63;

/// Parsed typed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedData {
    /// Hash to sign.
    pub digest: AbiWord,
    /// View for a person.
    pub shown: TypedDataView,
}

/// Typed data in readable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedDataView {
    /// Name of the message's struct type.
    pub primary_type: String,
    /// Fields of the domain, that is, the application that the signature is for.
    pub domain: Vec<TypedField>,
    /// Fields of the message, in the order of its type.
    pub message: Vec<TypedField>,
}

/// A single field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedField {
    /// Position, for example `order.items[0].price`.
    pub path: String,
    /// Name of the Solidity type.
    pub type_name: String,
    /// The value, as text.
    pub value: String,
}

/// Parses typed data from JSON. Integers may be numbers or strings, of up to 256 bits, and are read digit by digit.
pub fn read(json: &[u8]) -> Result<TypedData, Invalid> {
    let data = json::parse(json)?;
    let object = |name: &str| data.member(name).and_then(TypedValue::object).ok_or(Invalid::Form);
    let known = |name: &str| matches!(name, "types" | "primaryType" | "domain" | "message");
    if !data.names().all(known) {
        return Err(Invalid::Form);
    }
    let primary = data.member("primaryType").and_then(TypedValue::text).ok_or(Invalid::Form)?;
    let (domain, message) = (object("domain")?, object("message")?);
    let types = Types::parse(object("types")?, MAX_TYPES)?.with_domain_of(domain);
    let mut hasher = Hasher::new(&types, Lines::default());
    let (domain_hash, domain) =
        hash_and_list(&mut hasher, DOMAIN, domain).map_err(|invalid| invalid.within("domain"))?;
    let (message_hash, message) = hash_and_list(&mut hasher, primary, message)?;
    let digest = abi_words::signing_hash(domain_hash, message_hash);
    let shown = TypedDataView { primary_type: primary.to_owned(), domain, message };
    Ok(TypedData { digest, shown })
}

fn hash_and_list(
    hasher: &mut Hasher<'_, Lines>,
    name: &str,
    object: &Object,
) -> Result<(AbiWord, Vec<TypedField>), Invalid> {
    let hash = hasher.hash_struct(name, object)?;
    Ok((hash, std::mem::take(&mut hasher.observer().fields)))
}

/// Collects the hashed fields.
#[derive(Default)]
struct Lines {
    fields: Vec<TypedField>,
    path: String,
    /// Path lengths before each step.
    before: Vec<usize>,
    /// Number of values. Structs count too, because hashing even an empty one takes time.
    count: usize,
}

impl Lines {
    fn count(&mut self) -> Result<(), Invalid> {
        self.count += 1;
        if self.count > MAX_LINES { Err(Invalid::TooLong { most: MAX_LINES }) } else { Ok(()) }
    }
}

impl HashObserver<JsonNumberText> for Lines {
    fn enter_step(&mut self, step: HashStep<'_>) {
        self.before.push(self.path.len());
        match step {
            HashStep::Member(name) => {
                if !self.path.is_empty() {
                    self.path.push('.');
                }
                self.path.push_str(name);
            }
            HashStep::Item(index) => {
                self.path.push('[');
                self.path.push_str(&index.to_string());
                self.path.push(']');
            }
        }
    }

    fn leave(&mut self) {
        self.path.truncate(self.before.pop().unwrap_or_default());
    }

    fn structure(&mut self) -> Result<(), Invalid> {
        self.count()
    }

    fn value(&mut self, type_name: &str, value: &JsonNumberText) -> Result<(), Invalid> {
        self.count()?;
        let text = match value {
            JsonNumberText::Text(text) | JsonNumberText::Number(text) => text.clone(),
            JsonNumberText::Bool(value) => value.to_string(),
            JsonNumberText::Null => "null".to_owned(),
            JsonNumberText::List(_) | JsonNumberText::Object(_) => "(empty)".to_owned(),
        };
        self.fields.push(TypedField {
            path: self.path.clone(),
            type_name: type_name.to_owned(),
            value: text,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
