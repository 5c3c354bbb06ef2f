//! Compression of stored credentials. Most of their text is the same in all of them and is not stored again, which
//! speeds up imports of millions.

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_with_dict, uncompressed_size};

use crate::db::{Bind, Cell, Column, Value};

/// Dictionary with the common text of credentials. It must not change as long as compressed credentials exist; another
/// dictionary would get a new number.
const FORMS: &str = include_str!("compression/forms.jsonl");
/// Last byte of credentials that use [`FORMS`].
const NUMBER: u8 = 1;
/// Maximum length of a credential (`pyxis-scoring`, `credential/json.rs`). A larger size means damaged data.
const MAX_BYTES: usize = 64 * 1024;

/// A compressed credential: length, LZ4 block, and dictionary number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packed(Vec<u8>);

impl Packed {
    pub(super) fn pack(credential: &str) -> Self {
        debug_assert!(credential.len() <= MAX_BYTES, "too long to be read again");
        let mut bytes = compress_prepend_size_with_dict(credential.as_bytes(), FORMS.as_bytes());
        bytes.push(NUMBER);
        Self(bytes)
    }

    /// The credential, byte for byte. `None` if the data is invalid.
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
