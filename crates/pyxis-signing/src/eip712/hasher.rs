//! Hashes values by their types.

use super::abi_words::{self, AbiWord};
use super::data::{Members, TypedValue};
use super::invalid::Invalid;
use super::structs::{MemberKind, Struct, StructMember, Types};

/// Observes each value while it is hashed.
pub trait HashObserver<V> {
    /// Keccak-256 of a string, or of the words of a struct or list. Implementations that see the same data repeatedly
    /// may cache it.
    fn keccak(&self, data: &[u8]) -> AbiWord {
        abi_words::keccak(data)
    }

    /// Enters a member, or an item of a list.
    fn enter_step(&mut self, _step: HashStep<'_>) {}

    /// Leaves the member or item entered last.
    fn leave(&mut self) {}

    /// Starts a struct.
    fn structure(&mut self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Visits a value without nested values, or an empty list.
    fn value(&mut self, _type_name: &str, _value: &V) -> Result<(), Invalid> {
        Ok(())
    }
}

/// One step into the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashStep<'s> {
    /// Into a member.
    Member(&'s str),
    /// Into an item.
    Item(usize),
}

/// Hashes values of a set of types.
pub struct Hasher<'t, W> {
    types: &'t Types,
    /// Words of the structs and lists being hashed.
    words: Vec<AbiWord>,
    observer: W,
}

impl<'t, W> Hasher<'t, W> {
    /// Creates a hasher that shows every value to `observer`.
    pub const fn new(types: &'t Types, observer: W) -> Self {
        Self { types, words: Vec::new(), observer }
    }

    /// The observer of all values.
    pub fn observer(&mut self) -> &mut W {
        &mut self.observer
    }

    /// `hashStruct` of an object of the type `name`. The object must have exactly the members of the type; an extra
    /// member would be unsigned.
    pub fn hash_struct<O: Members>(&mut self, name: &str, object: &O) -> Result<AbiWord, Invalid>
    where
        W: HashObserver<O::Value>,
    {
        let index = self.types.index(name).ok_or_else(|| Invalid::UnknownType(name.to_owned()))?;
        self.structure(index, object)
    }

    fn structure<O: Members>(&mut self, index: usize, object: &O) -> Result<AbiWord, Invalid>
    where
        W: HashObserver<O::Value>,
    {
        self.observer.structure()?;
        let Struct { members, hash, .. } = &self.types.0[index];
        let first = self.words.len();
        self.words.push(*hash);
        for StructMember { name, type_name, kind } in members {
            let value = object.member(name).ok_or_else(|| Invalid::Missing(name.to_string()))?;
            self.observer.enter_step(HashStep::Member(name));
            let word = self.encode(kind, type_name, value).map_err(|invalid| invalid.within(name))?;
            self.words.push(word);
            self.observer.leave();
        }
        if object.count() != members.len() {
            let known = |name: &&str| members.iter().any(|member| *member.name == **name);
            let extra = object.names().find(|name| !known(name)).unwrap_or_default();
            return Err(Invalid::Unsigned(extra.to_owned()));
        }
        Ok(self.hash_from::<O::Value>(first))
    }

    /// Hashes the words from `first` on and removes them.
    fn hash_from<V: TypedValue>(&mut self, first: usize) -> AbiWord
    where
        W: HashObserver<V>,
    {
        let hash = self.observer.keccak(self.words[first..].as_flattened());
        self.words.truncate(first);
        hash
    }

    /// `encodeData` of one value.
    fn encode<V: TypedValue>(
        &mut self,
        kind: &MemberKind,
        type_name: &str,
        value: &V,
    ) -> Result<AbiWord, Invalid>
    where
        W: HashObserver<V>,
    {
        let wrong = || Invalid::Value { path: String::new(), expected: kind.expected() };
        match kind {
            MemberKind::Struct(index) => self.structure(*index, value.object().ok_or_else(wrong)?),
            MemberKind::Array(kind, length) => {
                let items = value.list().filter(|items| length.is_none_or(|length| length == items.len()));
                let items = items.ok_or_else(wrong)?;
                if items.is_empty() {
                    self.observer.value(type_name, value)?;
                }
                let item_type = type_name.rsplit_once('[').map_or(type_name, |(item, _)| item);
                let first = self.words.len();
                for (index, item) in items.iter().enumerate() {
                    self.observer.enter_step(HashStep::Item(index));
                    let word = self.encode(kind, item_type, item);
                    self.words.push(word.map_err(|invalid| invalid.within(&format!("[{index}]")))?);
                    self.observer.leave();
                }
                Ok(self.hash_from::<V>(first))
            }
            MemberKind::Text => {
                let word = self.observer.keccak(value.text().ok_or_else(wrong)?.as_bytes());
                self.observer.value(type_name, value)?;
                Ok(word)
            }
            _ => {
                let word = kind.encode_plain(value).ok_or_else(wrong)?;
                self.observer.value(type_name, value)?;
                Ok(word)
            }
        }
    }
}
