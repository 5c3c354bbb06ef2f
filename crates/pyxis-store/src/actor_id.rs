//! Authors in columns.

use pyxis_core::actor::ActorId;

use crate::db::{Bind, Cell, Column, Value};

impl Bind for &ActorId {
    const NULL: Value = <String as Bind>::NULL;

    fn bind(self) -> Value {
        self.to_string().bind()
    }
}

impl Column for ActorId {
    /// Accepts every text: a newer version may know more authors.
    fn read(cell: Cell<'_>) -> Option<Self> {
        String::read(cell).map(Self::from)
    }
}
