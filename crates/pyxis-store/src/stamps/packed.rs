//! Credentials as they are stored. Nearly all of their text stands in every one of them, so of most a sixth is left,
//! which is what an import of millions waits for.

use std::borrow::Cow;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_with_dict, uncompressed_size};

use crate::db::{Bind, Cell, Column, Value};

/// What the forms of credentials have in common, to which packed ones refer. It must stay as it is for as long as there
/// are any: another one would get a number of its own.
const FORMS: &str = include_str!("packed/forms.jsonl");
/// The last byte of those that refer to [`FORMS`].
const NUMBER: u8 = 1;
/// No credential is longer: a size beyond is damage, and must not be believed.
const MAX_BYTES: usize = 1 << 20;

/// A credential, packed: its length, an LZ4 block, and the number of what the block refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed(Vec<u8>);

impl Packed {
    pub(super) fn of(credential: &str) -> Self {
        let mut bytes = compress_prepend_size_with_dict(credential.as_bytes(), FORMS.as_bytes());
        bytes.push(NUMBER);
        Self(bytes)
    }

    /// The credential, byte for byte; `None` if this is none.
    pub(super) fn unpack(&self) -> Option<String> {
        let (&NUMBER, block) = self.0.split_last()? else { return None };
        let (length, block) = uncompressed_size(block).ok().filter(|(length, _)| *length <= MAX_BYTES)?;
        let text = decompress_with_dict(block, length, FORMS.as_bytes()).ok()?;
        String::from_utf8(text).ok().filter(|text| text.len() == length)
    }
}

impl Bind for Packed {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        self.0.bind()
    }
}

impl Column for Packed {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Column::read(cell).map(Self)
    }
}

/// The credential of a row, where those of before migration 20 stand as they came.
pub(super) fn text<'r>(packed: Option<&Packed>, plain: &'r str) -> Option<Cow<'r, str>> {
    packed.map_or(Some(Cow::Borrowed(plain)), |packed| packed.unpack().map(Cow::Owned))
}

#[cfg(test)]
mod tests;
