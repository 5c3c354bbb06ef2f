//! EIP-712 hashes of JSON data, for whatever types the data brings with it.
//!
//! Two rules beyond the standard keep signer and reader of one mind. The data has exactly the members
//! that its types name, so that nothing rides along unsigned. And type and member names are plain words,
//! so that one type string has one reading.

use std::sync::LazyLock;

use sha3::{Digest as _, Keccak256};

use super::json::{Node, Object};
use super::recurring::RECURRING;
use super::rejection::Rejection;

/// A Keccak-256 hash.
pub(super) type Hash = [u8; 32];

/// Most types of one credential; each names up to `json::MAX_MEMBERS` members.
const MAX_TYPES: usize = 16;
/// Longest name of a type or member, in bytes.
const MAX_NAME: usize = 64;
/// Most dimensions of an array.
const MAX_DIMENSIONS: usize = 4;

/// The struct types of some typed data.
pub(super) struct Types<'t>(Vec<Struct<'t>>);

struct Struct<'t> {
    name: &'t str,
    members: Vec<Member<'t>>,
    hash: Hash,
}

struct Member<'t> {
    name: &'t str,
    type_name: &'t str,
    kind: Kind,
}

enum Kind {
    Text,
    Bool,
    Address,
    Bytes,
    FixedBytes(usize),
    Integer {
        signed: bool,
        bits: u32,
    },
    Struct(usize),
    /// Of any length, or of exactly this.
    Array(Box<Kind>, Option<usize>),
}

fn invalid(reason: &'static str) -> Rejection {
    Rejection::InvalidTypedData { reason }
}

/// Keccak-256 of `data`.
pub(super) fn keccak(data: &[u8]) -> Hash {
    Keccak256::digest(data).into()
}

/// Keccak-256 of `text`. Half of the texts of a credential stand in every one, and hashing is most of what
/// a verification costs beside the signature: those are hashed once.
fn text_hash(text: &str) -> Hash {
    static KNOWN: LazyLock<Vec<(&str, Hash)>> =
        LazyLock::new(|| RECURRING.iter().map(|text| (*text, keccak(text.as_bytes()))).collect());
    let known = KNOWN.iter().find(|(known, _)| *known == text);
    known.map_or_else(|| keccak(text.as_bytes()), |(_, hash)| *hash)
}

/// The hash to sign: `domain` as `EIP712Domain`, `message` as `primary`. Every type must be of use.
pub(super) fn signing_hash(
    types: &Types<'_>,
    domain: &Object<'_>,
    primary: &str,
    message: &Object<'_>,
) -> Result<Hash, Rejection> {
    let domain_type = types.index("EIP712Domain").ok_or(invalid("EIP712Domain is not among the types"))?;
    let primary = types.index(primary).ok_or(invalid("primaryType is not among the types"))?;
    if types.reach(domain_type, 0) != 1 << domain_type {
        return Err(invalid("EIP712Domain has a member that is a struct"));
    }
    if types.reach(primary, 0) | 1 << domain_type != (1 << types.0.len()) - 1 {
        return Err(invalid("a type is not used"));
    }
    let mut text = [0; 66];
    text[..2].copy_from_slice(&[0x19, 0x01]);
    text[2..34].copy_from_slice(&types.hash_struct(domain_type, domain)?);
    text[34..].copy_from_slice(&types.hash_struct(primary, message)?);
    Ok(keccak(&text))
}

impl<'t> Types<'t> {
    /// Reads `{"Name": [{"name": …, "type": …}, …], …}`.
    pub(super) fn parse(types: &'t Object<'_>) -> Result<Self, Rejection> {
        if types.len() > MAX_TYPES {
            return Err(Rejection::TooComplex);
        }
        let names: Vec<&str> = types.iter().map(|(name, _)| name).collect();
        let structs = types.iter().map(|(name, members)| Struct::parse(name, members, &names));
        let mut types = Self(structs.collect::<Result<_, _>>()?);
        let hashes: Vec<Hash> = (0..names.len()).map(|index| text_hash(&types.encode_type(index))).collect();
        for (item, hash) in types.0.iter_mut().zip(hashes) {
            item.hash = hash;
        }
        Ok(types)
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|item| item.name == name)
    }

    /// The type of `member` of the type `name`, as it is written.
    pub(super) fn member_type(&self, name: &str, member: &str) -> Option<&'t str> {
        let members = &self.0[self.index(name)?].members;
        members.iter().find(|item| item.name == member).map(|item| item.type_name)
    }

    /// The types that `index` refers to, itself included, added to `seen`, as bits.
    fn reach(&self, index: usize, mut seen: u32) -> u32 {
        if seen >> index & 1 == 0 {
            seen |= 1 << index;
            for inner in self.0[index].members.iter().filter_map(|member| member.kind.as_struct()) {
                seen = self.reach(inner, seen);
            }
        }
        seen
    }

    /// `encodeType`: the type, then what it refers to by name.
    fn encode_type(&self, index: usize) -> String {
        let reach = self.reach(index, 0);
        let mut others: Vec<&Struct<'_>> = (0..self.0.len())
            .filter(|other| *other != index && reach >> other & 1 == 1)
            .map(|other| &self.0[other])
            .collect();
        others.sort_unstable_by_key(|item| item.name);
        let mut text = String::with_capacity(512);
        for item in std::iter::once(&self.0[index]).chain(others) {
            text.push_str(item.name);
            for (position, member) in item.members.iter().enumerate() {
                text.push(if position == 0 { '(' } else { ',' });
                text.push_str(member.type_name);
                text.push(' ');
                text.push_str(member.name);
            }
            text.push_str(if item.members.is_empty() { "()" } else { ")" });
        }
        text
    }

    /// `hashStruct`. The object must have the members of the type and no others.
    fn hash_struct(&self, index: usize, object: &Object<'_>) -> Result<Hash, Rejection> {
        let item = &self.0[index];
        let mut hasher = Keccak256::new_with_prefix(item.hash);
        for member in &item.members {
            let node = object.member(member.name)?;
            hasher.update(self.encode(&member.kind, node).map_err(|failure| failure.at(member.name))?);
        }
        if object.len() != item.members.len() {
            let known = |name: &&str| item.members.iter().any(|member| member.name == *name);
            let extra = object.iter().map(|(name, _)| name).find(|name| !known(name));
            return Err(Rejection::unsigned(extra.unwrap_or_default()));
        }
        Ok(hasher.finalize().into())
    }

    /// `encodeData` of one member: 32 bytes.
    fn encode(&self, kind: &Kind, node: &Node<'_>) -> Result<Hash, Failure> {
        match (kind, node) {
            (Kind::Text, Node::Text(text)) => Ok(text_hash(text)),
            (Kind::Struct(index), Node::Object(object)) => Ok(self.hash_struct(*index, object)?),
            (Kind::Array(kind, length), Node::List(items))
                if length.is_none_or(|length| length == items.len()) =>
            {
                let mut hasher = Keccak256::new();
                for item in items {
                    hasher.update(self.encode(kind, item)?);
                }
                Ok(hasher.finalize().into())
            }
            _ => kind.encode_plain(node).ok_or(Failure::Form(kind.expected())),
        }
    }
}

/// Why a member could not be encoded, before its name is known.
enum Failure {
    Form(&'static str),
    Inside(Rejection),
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::Inside(rejection)
    }
}

impl Failure {
    fn at(self, member: &str) -> Rejection {
        match self {
            Self::Form(expected) => Rejection::form(member, expected),
            Self::Inside(rejection) => rejection.within(member),
        }
    }
}

impl<'t> Struct<'t> {
    fn parse(name: &'t str, members: &'t Node<'_>, structs: &[&str]) -> Result<Self, Rejection> {
        let Node::List(list) = members else { return Err(invalid("a type must be a list of members")) };
        if !is_word(name) || Kind::plain(name).is_some() {
            return Err(invalid("the name of a type is not a plain word, or is a standard type's"));
        }
        if list.len() > super::json::MAX_MEMBERS {
            return Err(Rejection::TooComplex);
        }
        let mut members: Vec<Member<'t>> = Vec::with_capacity(list.len());
        for node in list {
            let member = Member::parse(node, structs)?;
            if members.iter().any(|other| other.name == member.name) {
                return Err(invalid("a type names one member twice"));
            }
            members.push(member);
        }
        Ok(Self { name, members, hash: [0; 32] })
    }
}

impl<'t> Member<'t> {
    fn parse(node: &'t Node<'_>, structs: &[&str]) -> Result<Self, Rejection> {
        const FORM: &str = "a member must have a name and a type, and nothing else";
        let Node::Object(object) = node else { return Err(invalid(FORM)) };
        let text = |key| object.get(key).and_then(Node::as_text).ok_or(invalid(FORM));
        let (name, type_name) = (text("name")?, text("type")?);
        if object.len() != 2 {
            return Err(invalid(FORM));
        }
        if !is_word(name) {
            return Err(invalid("the name of a member is not a plain word"));
        }
        let kind = Kind::parse(type_name, structs, MAX_DIMENSIONS);
        Ok(Self {
            name,
            type_name,
            kind: kind.ok_or(invalid("a member has a type that is neither standard nor given"))?,
        })
    }
}

/// Letters, digits, `_`, `$` and the `@` of JSON-LD: nothing that has a meaning in a type string.
fn is_word(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@');
    name.len() <= MAX_NAME
        && name.bytes().all(plain)
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

impl Kind {
    fn parse(name: &str, structs: &[&str], dimensions: usize) -> Option<Self> {
        if let Some(array) = name.strip_suffix(']') {
            let (element, length) = array.rsplit_once('[')?;
            let length = if length.is_empty() { None } else { Some(number(length)?) };
            let element = Self::parse(element, structs, dimensions.checked_sub(1)?)?;
            return Some(Self::Array(Box::new(element), length));
        }
        let by_name = || structs.iter().position(|other| *other == name).map(Self::Struct);
        Self::plain(name).or_else(by_name)
    }

    /// The standard types that are not made of others.
    fn plain(name: &str) -> Option<Self> {
        let integer = |bits: &str, signed| {
            let bits = u32::try_from(number(bits)?).ok()?;
            (bits % 8 == 0 && (8..=256).contains(&bits)).then_some(Self::Integer { signed, bits })
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

    fn as_struct(&self) -> Option<usize> {
        match self {
            Self::Struct(index) => Some(*index),
            Self::Array(kind, _) => kind.as_struct(),
            _ => None,
        }
    }

    /// `encodeData` of a value that is neither text, array nor struct.
    fn encode_plain(&self, node: &Node<'_>) -> Option<Hash> {
        let mut word = [0; 32];
        match (self, node) {
            (Self::Bool, Node::Bool(value)) => word[31] = u8::from(*value),
            (Self::Address, Node::Text(text)) => {
                word[12..].copy_from_slice(&hex(text).filter(|data| data.len() == 20)?);
            }
            (Self::Bytes, Node::Text(text)) => word = keccak(&hex(text)?),
            (Self::FixedBytes(length), Node::Text(text)) => {
                word[..*length].copy_from_slice(&hex(text).filter(|data| data.len() == *length)?);
            }
            (Self::Integer { signed, bits }, Node::Integer(value)) if fits(*value, *signed, *bits) => {
                word.fill(if *value < 0 { 0xff } else { 0 });
                word[24..].copy_from_slice(&value.to_be_bytes());
            }
            _ => return None,
        }
        Some(word)
    }

    fn expected(&self) -> &'static str {
        match self {
            Self::Text => "a text, as its type says",
            Self::Bool => "true or false, as its type says",
            Self::Address => "an address of 0x and 40 hexadecimal digits, as its type says",
            Self::Bytes | Self::FixedBytes(_) => "0x and hexadecimal digits, as many as its type says",
            Self::Integer { .. } => "a JSON integer within the range of its type",
            Self::Struct(_) => "an object, as its type says",
            Self::Array(..) => "a list, as long as its type says",
        }
    }
}

/// A decimal number without sign or leading zero.
fn number(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

fn fits(value: i64, signed: bool, bits: u32) -> bool {
    let magnitude_bits = if signed { bits - 1 } else { bits };
    let magnitude = if value < 0 { !value } else { value };
    (signed || value >= 0) && (magnitude_bits >= 63 || magnitude >> magnitude_bits == 0)
}

/// The bytes of `0x` and an even number of hexadecimal digits.
pub(super) fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.strip_prefix("0x")?.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests;
