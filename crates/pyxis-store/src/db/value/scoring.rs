//! Stored representation of scoring types.

use pyxis_core::address::EvmAddress;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::Nullifier;

use super::{Bind, Cell, Column, Value};

/// 20 bytes.
impl Bind for EvmAddress {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        self.0.bind()
    }
}

impl Column for EvmAddress {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Column::read(cell).map(Self)
    }
}

/// Integer in units of 0.00001.
impl Bind for Decimal {
    const NULL: Value = Value::Int(None);

    fn bind(self) -> Value {
        self.units().bind()
    }
}

impl Column for Decimal {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell).map(Self::from_units)
    }
}

impl Bind for ScorerId {
    const NULL: Value = Value::Int(None);

    fn bind(self) -> Value {
        self.get().bind()
    }
}

impl Column for ScorerId {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell)?.try_into().ok()
    }
}

/// A JSON array.
impl Bind for Vec<Nullifier> {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        let texts: Vec<&str> = self.iter().map(Nullifier::as_str).collect();
        serde_json::Value::from(texts).to_string().bind()
    }
}

impl Column for Vec<Nullifier> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Text(text) = cell { serde_json::from_str(text).ok() } else { None }
    }
}
