//! Hashing values by their types.

use sha3::{Digest, Keccak256};

use super::data::{Data, Members};
use super::invalid::Invalid;
use super::structs::{Kind, Types};
use super::words::{self, Word};

/// Sees each value in the moment when it is hashed.
pub trait Witness<V> {
    /// The hash of a text. Whoever meets the same texts often may know it.
    fn text_hash(&self, text: &str) -> Word {
        words::text(text)
    }

    /// Goes on to a member, or to an item of a list.
    fn enter(&mut self, _step: Step<'_>) {}

    /// Comes back.
    fn leave(&mut self) {}

    /// Begins a struct.
    fn structure(&mut self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Sees a value that holds no other, or a list that is empty.
    fn value(&mut self, _type_name: &str, _value: &V) -> Result<(), Invalid> {
        Ok(())
    }
}

/// One step into the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'s> {
    /// To a member.
    Member(&'s str),
    /// To an item.
    Item(usize),
}

/// Hashes data of some types.
pub struct Hasher<'h, 't, W> {
    types: &'h Types<'t>,
    /// `typeHash` of each.
    hashes: Vec<Word>,
    witness: W,
}

impl<'h, 't, W> Hasher<'h, 't, W> {
    /// Hashes the types; `witness` sees every value after that.
    pub fn new<V: Data>(types: &'h Types<'t>, witness: W) -> Self
    where
        W: Witness<V>,
    {
        let hashes = (0..types.0.len()).map(|index| witness.text_hash(&types.encode_type(index))).collect();
        Self { types, hashes, witness }
    }

    /// Who has seen it all.
    pub fn witness(&mut self) -> &mut W {
        &mut self.witness
    }

    /// `hashStruct` of an object of the type `name`. It must have the members of the type and no others: one
    /// too many would ride along unsigned.
    pub fn hash_struct<O: Members>(&mut self, name: &str, object: &O) -> Result<Word, Invalid>
    where
        W: Witness<O::Value>,
    {
        let index = self.types.index(name).ok_or_else(|| Invalid::UnknownType(name.to_owned()))?;
        self.structure(index, object)
    }

    fn structure<O: Members>(&mut self, index: usize, object: &O) -> Result<Word, Invalid>
    where
        W: Witness<O::Value>,
    {
        self.witness.structure()?;
        let types = self.types;
        let members = &types.0[index].members;
        let mut hasher = Keccak256::new_with_prefix(self.hashes[index]);
        for member in members {
            let value = object.member(member.name).ok_or_else(|| Invalid::Missing(member.name.to_owned()))?;
            self.witness.enter(Step::Member(member.name));
            let word = self.encode(&member.kind, member.type_name, value);
            hasher.update(word.map_err(|invalid| invalid.within(member.name))?);
            self.witness.leave();
        }
        if object.count() != members.len() {
            let known = |name: &&str| members.iter().any(|member| member.name == *name);
            let extra = object.names().find(|name| !known(name)).unwrap_or_default();
            return Err(Invalid::Unsigned(extra.to_owned()));
        }
        Ok(hasher.finalize().into())
    }

    /// `encodeData` of one value.
    fn encode<V: Data>(&mut self, kind: &Kind, type_name: &str, value: &V) -> Result<Word, Invalid>
    where
        W: Witness<V>,
    {
        let wrong = || Invalid::Value { path: String::new(), expected: kind.expected() };
        match kind {
            Kind::Struct(index) => self.structure(*index, value.object().ok_or_else(wrong)?),
            Kind::Array(kind, length) => {
                let items = value.list().filter(|items| length.is_none_or(|length| length == items.len()));
                let items = items.ok_or_else(wrong)?;
                if items.is_empty() {
                    self.witness.value(type_name, value)?;
                }
                let item_type = type_name.rsplit_once('[').map_or(type_name, |(item, _)| item);
                let mut hasher = Keccak256::new();
                for (index, item) in items.iter().enumerate() {
                    self.witness.enter(Step::Item(index));
                    let word = self.encode(kind, item_type, item);
                    hasher.update(word.map_err(|invalid| invalid.within(&format!("[{index}]")))?);
                    self.witness.leave();
                }
                Ok(hasher.finalize().into())
            }
            Kind::Text => {
                let word = self.witness.text_hash(value.text().ok_or_else(wrong)?);
                self.witness.value(type_name, value)?;
                Ok(word)
            }
            _ => {
                let word = kind.encode_plain(value).ok_or_else(wrong)?;
                self.witness.value(type_name, value)?;
                Ok(word)
            }
        }
    }
}
