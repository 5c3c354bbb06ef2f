//! Struct types defined in typed data.

use super::abi_words::{self, AbiWord};
use super::data::{Members, TypedValue};
use super::invalid::Invalid;

/// Maximum number of types: one less than the bits of [`Set`], to leave room for an undefined domain type.
const MAX_TYPES: usize = 63;
/// Maximum number of members of a type.
const MAX_MEMBERS: usize = 64;
/// Maximum length of a type or member name, in bytes.
const MAX_NAME: usize = 64;
/// Maximum number of array dimensions.
const MAX_DIMENSIONS: usize = 4;

/// Name of the domain's type.
pub const DOMAIN: &str = "EIP712Domain";
/// Members of the domain type, in standard order.
const DOMAIN_MEMBERS: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// Bit set of type indexes.
type Set = u64;

/// Struct types of one document.
pub struct Types(pub(super) Vec<Struct>);

pub(super) struct Struct {
    pub(super) name: Box<str>,
    pub(super) members: Vec<StructMember>,
    /// `typeHash`.
    pub(super) hash: AbiWord,
}

pub(super) struct StructMember {
    pub(super) name: Box<str>,
    pub(super) type_name: Box<str>,
    pub(super) kind: MemberKind,
}

/// Type of a member.
pub(super) enum MemberKind {
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
    /// An array of any length, or of exactly this length.
    Array(Box<Self>, Option<usize>),
}

impl Types {
    /// Parses `{"Name": [{"name": …, "type": …}, …], …}` with at most `most` types.
    pub fn parse<O: Members>(given: &O, most: usize) -> Result<Self, Invalid> {
        if given.count() > most.min(MAX_TYPES) {
            return Err(Invalid::TooComplex);
        }
        let names: Vec<&str> = given.names().collect();
        let structs = names.iter().map(|name| Struct::parse(name, given.member(name), &names));
        Ok(Self(structs.collect::<Result<_, _>>()?).hashed())
    }

    /// Derives the domain's type from its members if it is not defined, as many libraries leave it out.
    #[must_use]
    pub fn with_domain_of<O: Members>(mut self, domain: &O) -> Self {
        if self.index(DOMAIN).is_none() {
            let present = DOMAIN_MEMBERS.iter().filter(|(name, _)| domain.member(name).is_some());
            let members = present.filter_map(|(name, type_name)| {
                Some(StructMember {
                    name: (*name).into(),
                    type_name: (*type_name).into(),
                    kind: MemberKind::plain(type_name)?,
                })
            });
            self.0.push(Struct::new(DOMAIN, members.collect()));
            self.hash(self.0.len() - 1);
        }
        self
    }

    fn hashed(mut self) -> Self {
        for index in 0..self.0.len() {
            self.hash(index);
        }
        self
    }

    fn hash(&mut self, index: usize) {
        self.0[index].hash = abi_words::text(&self.encode_type(index));
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|item| *item.name == *name)
    }

    /// The type of `member` in the type `name`, as written.
    pub fn member_type(&self, name: &str, member: &str) -> Option<&str> {
        let members = &self.0[self.index(name)?].members;
        members.iter().find(|item| *item.name == *member).map(|item| &*item.type_name)
    }

    /// Fails unless the domain and `primary` are defined, the domain contains no struct, and every type is used.
    pub fn check_use(&self, primary: &str) -> Result<(), Invalid> {
        let domain = self.index(DOMAIN).ok_or(Invalid::Types("EIP712Domain is not defined in types"))?;
        let primary = self.index(primary).ok_or(Invalid::Types("primaryType is not defined in types"))?;
        if self.reachable_types(domain, 0) != 1 << domain {
            return Err(Invalid::Types("EIP712Domain has a member that is a struct"));
        }
        if self.reachable_types(primary, 0) | 1 << domain != (1 << self.0.len()) - 1 {
            return Err(Invalid::Types("a type is not used"));
        }
        Ok(())
    }

    /// Types that `index` refers to, including itself, added to `seen`.
    fn reachable_types(&self, index: usize, mut seen: Set) -> Set {
        if seen >> index & 1 == 0 {
            seen |= 1 << index;
            for inner in self.0[index].members.iter().filter_map(|member| member.kind.as_struct()) {
                seen = self.reachable_types(inner, seen);
            }
        }
        seen
    }

    /// `encodeType`: the type, followed by the types that it refers to, sorted by name.
    pub(super) fn encode_type(&self, index: usize) -> String {
        let reach = self.reachable_types(index, 0);
        let mut others: Vec<&Struct> = (0..self.0.len())
            .filter(|other| *other != index && reach >> other & 1 == 1)
            .map(|other| &self.0[other])
            .collect();
        others.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let mut text = String::with_capacity(512);
        for item in std::iter::once(&self.0[index]).chain(others) {
            text.push_str(&item.name);
            for (position, member) in item.members.iter().enumerate() {
                text.push(if position == 0 { '(' } else { ',' });
                text.push_str(&member.type_name);
                text.push(' ');
                text.push_str(&member.name);
            }
            text.push_str(if item.members.is_empty() { "()" } else { ")" });
        }
        text
    }
}

impl Struct {
    fn new(name: &str, members: Vec<StructMember>) -> Self {
        Self { name: name.into(), members, hash: AbiWord::default() }
    }

    fn parse<V: TypedValue>(name: &str, members: Option<&V>, structs: &[&str]) -> Result<Self, Invalid> {
        let list =
            members.and_then(TypedValue::list).ok_or(Invalid::Types("a type must be a list of members"))?;
        if !is_word(name) || MemberKind::plain(name).is_some() {
            return Err(Invalid::Types("the name of a type is not a plain word, or is a standard type's"));
        }
        if list.len() > MAX_MEMBERS {
            return Err(Invalid::TooComplex);
        }
        let mut members: Vec<StructMember> = Vec::with_capacity(list.len());
        for node in list {
            let member = StructMember::parse(node, structs)?;
            if members.iter().any(|other| other.name == member.name) {
                return Err(Invalid::Types("a type has two members of the same name"));
            }
            members.push(member);
        }
        Ok(Self::new(name, members))
    }
}

impl StructMember {
    fn parse<V: TypedValue>(node: &V, structs: &[&str]) -> Result<Self, Invalid> {
        const FORM: &str = "a member must have a name and a type, and nothing else";
        let object = node.object().ok_or(Invalid::Types(FORM))?;
        let text = |key| object.member(key).and_then(TypedValue::text).ok_or(Invalid::Types(FORM));
        let (name, type_name) = (text("name")?, text("type")?);
        if object.count() != 2 {
            return Err(Invalid::Types(FORM));
        }
        if !is_word(name) {
            return Err(Invalid::Types("the name of a member is not a plain word"));
        }
        let unknown =
            || Invalid::UnknownType(type_name.chars().take(MAX_NAME).flat_map(char::escape_debug).collect());
        let kind = MemberKind::parse(type_name, structs, MAX_DIMENSIONS).ok_or_else(unknown)?;
        Ok(Self { name: name.into(), type_name: type_name.into(), kind })
    }
}

/// True for letters, digits, `_`, `$` and the `@` of JSON-LD, none of which has a meaning in a type string.
fn is_word(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@');
    name.len() <= MAX_NAME
        && name.bytes().all(plain)
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

impl MemberKind {
    fn parse(name: &str, structs: &[&str], dimensions: usize) -> Option<Self> {
        if let Some(array) = name.strip_suffix(']') {
            let (element, length) = array.rsplit_once('[')?;
            let length = if length.is_empty() { None } else { Some(count(length)?) };
            let element = Self::parse(element, structs, dimensions.checked_sub(1)?)?;
            return Some(Self::Array(Box::new(element), length));
        }
        let by_name = || structs.iter().position(|other| *other == name).map(Self::Struct);
        Self::plain(name).or_else(by_name)
    }

    /// Parses an elementary type. Rejects a bare `uint`, whose type string would differ from `uint256`.
    fn plain(name: &str) -> Option<Self> {
        let integer = |bits: &str, signed| {
            let bits = u32::try_from(count(bits)?).ok()?;
            (bits % 8 == 0 && (8..=256).contains(&bits)).then_some(Self::Integer { signed, bits })
        };
        match name {
            "string" => Some(Self::Text),
            "bool" => Some(Self::Bool),
            "address" => Some(Self::Address),
            "bytes" => Some(Self::Bytes),
            _ => {
                if let Some(length) = name.strip_prefix("bytes") {
                    count(length).filter(|length| (1..=32).contains(length)).map(Self::FixedBytes)
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

    /// `encodeData` of a value that is not a string, array or struct.
    pub(super) fn encode_plain<V: TypedValue>(&self, value: &V) -> Option<AbiWord> {
        let bytes = || value.text().and_then(hex);
        let mut word = [0; 32];
        match self {
            Self::Bool => word[31] = u8::from(value.boolean()?),
            Self::Address => word[12..].copy_from_slice(&bytes().filter(|data| data.len() == 20)?),
            Self::Bytes => word = abi_words::keccak(&bytes()?),
            Self::FixedBytes(length) => {
                word[..*length].copy_from_slice(&bytes().filter(|data| data.len() == *length)?);
            }
            Self::Integer { signed, bits } => word = value.integer(*signed, *bits)?,
            Self::Text | Self::Struct(_) | Self::Array(..) => return None,
        }
        Some(word)
    }

    pub(super) const fn expected(&self) -> &'static str {
        match self {
            Self::Text => "a string, as its type says",
            Self::Bool => "true or false, as its type says",
            Self::Address => "an address (0x and 40 hex characters), as its type says",
            Self::Bytes | Self::FixedBytes(_) => "0x followed by as many hex characters as its type says",
            Self::Integer { .. } => "an integer within the range of its type",
            Self::Struct(_) => "an object, as its type says",
            Self::Array(..) => "a list, as long as its type says",
        }
    }
}

/// Parses a decimal number without sign or leading zero.
fn count(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

/// Decodes `0x` and an even number of hex digits.
pub fn hex(text: &str) -> Option<Vec<u8>> {
    pyxis_core::hex::decode_prefixed(text)
}
