//! EIP-712: typed data, hashed as signers of Ethereum do and shown field by field.
//!
//! Stricter than the standard in one way: the data has exactly the members that its types name. A member
//! too many would be shown and not signed.

mod value;

use serde_json::{Map, Value};
use sha3::{Digest, Keccak256};

use self::value::{Kind, encode_plain, shown_plain};

/// Most lines that are made for a person to read; what is longer is refused, not cut.
const MAX_LINES: usize = 2000;
/// Most struct types.
const MAX_TYPES: usize = 64;
/// The domain's members in the order that the standard gives.
const DOMAIN: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// Why typed data cannot be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Not JSON, or not an object with `types`, `primaryType`, `domain` and `message`.
    #[error("not typed data: an object with types, primaryType, domain and message")]
    Form,
    /// A type that is neither standard nor given, or badly formed.
    #[error("bad type: {0}")]
    Type(String),
    /// A value that its type does not allow.
    #[error("{path} is not {expected}")]
    Value {
        /// Where.
        path: String,
        /// What its type asks for.
        expected: String,
    },
    /// A member that the types do not name, so that it would not be signed.
    #[error("{0} is not named by its type, so it would not be signed")]
    Unsigned(String),
    /// Too much to read.
    #[error("more than {MAX_LINES} values: nobody could read them before they approve")]
    TooLong,
}

/// Typed data that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedData {
    /// What is signed.
    pub digest: [u8; 32],
    /// What is read.
    pub shown: Shown,
}

/// Typed data as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The type of the message.
    pub primary_type: String,
    /// Who the signature is for.
    pub domain: Vec<Field>,
    /// What is said.
    pub message: Vec<Field>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it stands: `order.items[0].price`.
    pub path: String,
    /// Its type.
    pub type_name: String,
    /// The value, as text.
    pub value: String,
}

/// Reads typed data from JSON.
pub fn read(json: &[u8]) -> Result<TypedData, Invalid> {
    let Ok(Value::Object(data)) = serde_json::from_slice(json) else { return Err(Invalid::Form) };
    let object = |name: &str| data.get(name).and_then(Value::as_object).ok_or(Invalid::Form);
    let known = |name: &String| matches!(&**name, "types" | "primaryType" | "domain" | "message");
    if !data.keys().all(known) {
        return Err(Invalid::Form);
    }
    let primary = data.get("primaryType").and_then(Value::as_str).ok_or(Invalid::Form)?;
    let (domain, message) = (object("domain")?, object("message")?);
    let types = Types::parse(object("types")?, domain)?;
    let mut walk = Walk { types: &types, lines: 0 };
    let (domain_hash, domain) = walk.top("EIP712Domain", domain)?;
    let (message_hash, message) = walk.top(primary, message)?;
    let digest = Keccak256::new_with_prefix([0x19, 0x01])
        .chain_update(domain_hash)
        .chain_update(message_hash)
        .finalize()
        .into();
    let shown = Shown { primary_type: primary.to_owned(), domain, message };
    Ok(TypedData { digest, shown })
}

struct Member {
    name: String,
    type_name: String,
    kind: Kind,
}

/// Struct types by name.
struct Types(Vec<(String, Vec<Member>)>);

impl Types {
    fn parse(given: &Map<String, Value>, domain: &Map<String, Value>) -> Result<Self, Invalid> {
        if given.len() > MAX_TYPES {
            return Err(Invalid::Type("too many types".to_owned()));
        }
        let mut types = Self(Vec::with_capacity(given.len() + 1));
        for (name, members) in given {
            if !is_word(name) || Kind::plain(name).is_some() {
                return Err(Invalid::Type(name.clone()));
            }
            let list = members.as_array().ok_or(Invalid::Form)?;
            let members = list.iter().map(|member| Member::parse(member, given)).collect::<Result<_, _>>()?;
            types.0.push((name.clone(), members));
        }
        if types.members("EIP712Domain").is_err() {
            types.0.push(("EIP712Domain".to_owned(), domain_members(domain)));
        }
        Ok(types)
    }

    fn members(&self, name: &str) -> Result<&[Member], Invalid> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, members)| &**members).ok_or_else(|| Invalid::Type(name.to_owned()))
    }

    /// `typeHash`: of the type, followed by those that it refers to, by name.
    fn hash(&self, name: &str) -> Result<[u8; 32], Invalid> {
        let mut reached = vec![name];
        let mut next = 0;
        while let Some(current) = reached.get(next).copied() {
            next += 1;
            for inner in self.members(current)?.iter().filter_map(|member| member.kind.as_struct()) {
                if !reached.contains(&inner) {
                    reached.push(inner);
                }
            }
        }
        reached[1..].sort_unstable();
        let mut text = String::new();
        for name in reached {
            let members = self.members(name)?.iter();
            let members: Vec<_> =
                members.map(|member| format!("{} {}", member.type_name, member.name)).collect();
            for piece in [name, "(", &members.join(","), ")"] {
                text.push_str(piece);
            }
        }
        Ok(Keccak256::digest(text.as_bytes()).into())
    }
}

/// Many libraries leave the domain's type out: then it is what the domain holds.
fn domain_members(domain: &Map<String, Value>) -> Vec<Member> {
    let present = DOMAIN.iter().filter(|(name, _)| domain.contains_key(*name));
    present
        .filter_map(|(name, type_name)| {
            let kind = Kind::plain(type_name)?;
            Some(Member { name: (*name).to_owned(), type_name: (*type_name).to_owned(), kind })
        })
        .collect()
}

impl Member {
    fn parse(member: &Value, given: &Map<String, Value>) -> Result<Self, Invalid> {
        let text = |name: &str| member.get(name).and_then(Value::as_str).ok_or(Invalid::Form);
        let (name, type_name) = (text("name")?, text("type")?);
        let bad = || Invalid::Type(format!("{type_name} {name}"));
        if !is_word(name) {
            return Err(bad());
        }
        let kind = Kind::parse(type_name, &|name| given.contains_key(name)).ok_or_else(bad)?;
        Ok(Self { name: name.to_owned(), type_name: type_name.to_owned(), kind })
    }
}

/// Nothing that has a meaning in a type string.
fn is_word(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@'))
        && !name.as_bytes()[0].is_ascii_digit()
}

/// Hashes and lists values in one pass, so that what is shown is what was hashed.
struct Walk<'t> {
    types: &'t Types,
    lines: usize,
}

impl Walk<'_> {
    fn top(&mut self, name: &str, object: &Map<String, Value>) -> Result<([u8; 32], Vec<Field>), Invalid> {
        let mut fields = Vec::new();
        let hash = self.structure(name, object, "", &mut fields)?;
        Ok((hash, fields))
    }

    fn structure(
        &mut self,
        name: &str,
        object: &Map<String, Value>,
        path: &str,
        fields: &mut Vec<Field>,
    ) -> Result<[u8; 32], Invalid> {
        let types = self.types;
        let members = types.members(name)?;
        self.count()?;
        let at = |member: &str| if path.is_empty() { member.to_owned() } else { format!("{path}.{member}") };
        if let Some(extra) = object.keys().find(|key| !members.iter().any(|member| member.name == **key)) {
            return Err(Invalid::Unsigned(at(extra)));
        }
        let mut hasher = Keccak256::new_with_prefix(types.hash(name)?);
        for member in members {
            let value = object.get(&member.name).unwrap_or(&Value::Null);
            hasher.update(self.encode(&member.kind, value, &at(&member.name), &member.type_name, fields)?);
        }
        Ok(hasher.finalize().into())
    }

    fn encode(
        &mut self,
        kind: &Kind,
        value: &Value,
        path: &str,
        type_name: &str,
        fields: &mut Vec<Field>,
    ) -> Result<[u8; 32], Invalid> {
        let wrong = || Invalid::Value { path: path.to_owned(), expected: format!("a {type_name}") };
        match (kind, value) {
            (Kind::Struct(name), Value::Object(object)) => self.structure(name, object, path, fields),
            (Kind::Array(kind, length), Value::Array(items))
                if length.is_none_or(|length| length == items.len()) =>
            {
                let element = type_name.rsplit_once('[').map_or(type_name, |(element, _)| element);
                let mut hasher = Keccak256::new();
                for (index, item) in items.iter().enumerate() {
                    hasher.update(self.encode(kind, item, &format!("{path}[{index}]"), element, fields)?);
                }
                if items.is_empty() {
                    self.line(path, type_name, "(empty)".to_owned(), fields)?;
                }
                Ok(hasher.finalize().into())
            }
            _ => {
                let word = encode_plain(kind, value).ok_or_else(wrong)?;
                self.line(path, type_name, shown_plain(kind, value), fields)?;
                Ok(word)
            }
        }
    }

    /// Structs count as well: hashing them costs something, also where they are empty.
    fn count(&mut self) -> Result<(), Invalid> {
        self.lines += 1;
        if self.lines > MAX_LINES { Err(Invalid::TooLong) } else { Ok(()) }
    }

    fn line(
        &mut self,
        path: &str,
        type_name: &str,
        value: String,
        fields: &mut Vec<Field>,
    ) -> Result<(), Invalid> {
        self.count()?;
        fields.push(Field { path: path.to_owned(), type_name: type_name.to_owned(), value });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
