//! Credentials as they are stored. Most of their text stands in every other one and need not be written again, which is
//! what an import of millions waits for.

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_with_dict, uncompressed_size};

use crate::db::{Bind, Cell, Column, Value};

/// What the forms of credentials have in common, to which packed ones refer. It must stay as it is for as long as there
/// are any: another one would get a number of its own.
const FORMS: &str = include_str!("compression/forms.jsonl");
/// The last byte of those that refer to [`FORMS`].
const NUMBER: u8 = 1;
/// No credential is longer (`pyxis-scoring`, `credential/json.rs`): a size beyond is damage, and must not be believed.
const MAX_BYTES: usize = 64 * 1024;

/// A credential, packed: its length, an LZ4 block, and the number of what the block refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    pub(super) fn of(credential: &str) -> Self {
        debug_assert!(credential.len() <= MAX_BYTES, "too long to be read again");
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

#[cfg(test)]
mod tests;
