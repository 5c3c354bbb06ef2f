//! EIP-712: typed data, hashed as signers of Ethereum do. What a person is to sign is read by [`read`], which
//! shows it field by field in the very walk that hashes it; credentials are hashed by [`Hasher`], and
//! structures whose types are known in advance by [`words`].
//!
//! Two rules beyond the standard keep signer and reader of one mind. The data has exactly the members that its
//! types name, so that nothing rides along unsigned. And type and member names are plain words, so that one
//! type string has one reading.

mod data;
mod hasher;
mod invalid;
mod json;
mod structs;
pub mod words;

use self::json::{JsonNumberText, Object};

pub use self::data::{Members, TypedValue, integer};
pub use self::hasher::{HashObserver, HashStep, Hasher};
pub use self::invalid::Invalid;
pub use self::structs::{DOMAIN, Types, hex};
pub use self::words::Word;

/// Most lines that are made for a person to read; what is longer is refused, not cut.
const MAX_LINES: usize = 2000;
/// Most struct types of what a person reads.
const MAX_TYPES: usize = 63;

/// Typed data that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedData {
    /// What is signed.
    pub digest: Word,
    /// What is read.
    pub shown: TypedDataView,
}

/// Typed data as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedDataView {
    /// The type of the message.
    pub primary_type: String,
    /// Who the signature is for.
    pub domain: Vec<TypedField>,
    /// What is said.
    pub message: Vec<TypedField>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedField {
    /// Where it stands: `order.items[0].price`.
    pub path: String,
    /// Its type.
    pub type_name: String,
    /// The value, as text.
    pub value: String,
}

/// Reads typed data from JSON. Integers may be numbers or texts, of up to 256 bits, and are read by their digits.
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
        shown(&mut hasher, DOMAIN, domain).map_err(|invalid| invalid.within("domain"))?;
    let (message_hash, message) = shown(&mut hasher, primary, message)?;
    let digest = words::signing_hash(domain_hash, message_hash);
    let shown = TypedDataView { primary_type: primary.to_owned(), domain, message };
    Ok(TypedData { digest, shown })
}

fn shown(
    hasher: &mut Hasher<'_, Lines>,
    name: &str,
    object: &Object,
) -> Result<(Word, Vec<TypedField>), Invalid> {
    let hash = hasher.hash_struct(name, object)?;
    Ok((hash, std::mem::take(&mut hasher.witness().fields)))
}

/// Writes down what is hashed.
#[derive(Default)]
struct Lines {
    fields: Vec<TypedField>,
    path: String,
    /// Lengths of the path before each step.
    before: Vec<usize>,
    /// Structs count as well: hashing them costs something, also where they are empty.
    count: usize,
}

impl Lines {
    fn count(&mut self) -> Result<(), Invalid> {
        self.count += 1;
        if self.count > MAX_LINES { Err(Invalid::TooLong { most: MAX_LINES }) } else { Ok(()) }
    }
}

impl HashObserver<JsonNumberText> for Lines {
    fn enter(&mut self, step: HashStep<'_>) {
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
