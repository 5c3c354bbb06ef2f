//! Stored representation of verification types.

use std::borrow::Cow;

use pyxis_core::field::FieldElement;
use pyxis_core::proof::{ActionId, Kind, NetworkName, ProofNullifier, Subject};

use super::{Bind, Cell, Column, Value};

named_text!(Kind);

/// 32 bytes, big-endian.
impl Bind for FieldElement {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        self.to_be_bytes().bind()
    }
}

impl Column for FieldElement {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Column::read(cell).and_then(Self::from_be_bytes)
    }
}

macro_rules! number {
    ($($type:ident),+) => {$(
        impl Bind for $type {
            const NULL: Value = Value::Bytes(None);

            fn bind(self) -> Value {
                self.0.bind()
            }
        }

        impl Column for $type {
            fn read(cell: Cell<'_>) -> Option<Self> {
                Column::read(cell).map(Self)
            }
        }
    )+};
}

number!(ActionId, ProofNullifier);

/// 20 bytes, or 32 on Sui.
impl Bind for Subject {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        self.as_bytes().to_vec().bind()
    }
}

impl Column for Subject {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Bytes(bytes) = cell { Self::from_bytes(bytes) } else { None }
    }
}

impl Bind for NetworkName {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        Value::Text(Some(Cow::Owned(self.as_str().to_owned())))
    }
}

impl Column for NetworkName {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Text(text) = cell { text.parse().ok() } else { None }
    }
}
