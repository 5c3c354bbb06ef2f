//! Statement parameters and result cells.

use std::borrow::Cow;

use pyxis_core::clock::UnixMillis;
use pyxis_core::stamp::{Nullifier, StampName};
use pyxis_core::{approval_mode, id};

/// A bound parameter. NULL keeps its SQL type, because PostgreSQL refuses a text NULL in a bigint column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// BIGINT.
    Int(Option<i64>),
    Text(Option<Cow<'static, str>>),
    /// BYTEA or BLOB.
    Bytes(Option<Vec<u8>>),
    /// BOOLEAN.
    Bool(Option<bool>),
    /// An array of values of one type, on PostgreSQL only.
    List(Vec<Value>),
}

impl Value {
    /// PostgreSQL type of an array of such values.
    pub(super) const fn array_type(&self) -> &'static str {
        match self {
            Self::Int(_) => "BIGINT[]",
            Self::Text(_) => "TEXT[]",
            Self::Bytes(_) => "BYTEA[]",
            Self::Bool(_) | Self::List(_) => "BOOLEAN[]",
        }
    }
}

/// A type that can be bound as a parameter.
pub trait Bind {
    /// NULL of this type.
    const NULL: Value;
    /// Converts to a parameter.
    fn bind(self) -> Value;
}

impl<T: Bind> Bind for Option<T> {
    const NULL: Value = T::NULL;

    fn bind(self) -> Value {
        self.map_or(T::NULL, T::bind)
    }
}

impl Bind for i64 {
    const NULL: Value = Value::Int(None);

    fn bind(self) -> Value {
        Value::Int(Some(self))
    }
}

impl Bind for UnixMillis {
    const NULL: Value = Value::Int(None);

    fn bind(self) -> Value {
        Value::Int(Some(self.0))
    }
}

impl Bind for bool {
    const NULL: Value = Value::Bool(None);

    fn bind(self) -> Value {
        Value::Bool(Some(self))
    }
}

impl Bind for String {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        Value::Text(Some(Cow::Owned(self)))
    }
}

impl Bind for Cow<'static, str> {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        Value::Text(Some(self))
    }
}

impl Column for Cow<'static, str> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        String::read(cell).map(Cow::Owned)
    }
}

impl Bind for &str {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        Value::Text(Some(Cow::Owned(self.to_owned())))
    }
}

impl Bind for Vec<u8> {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        Value::Bytes(Some(self))
    }
}

impl<const N: usize> Bind for [u8; N] {
    const NULL: Value = Value::Bytes(None);

    fn bind(self) -> Value {
        Value::Bytes(Some(self.to_vec()))
    }
}

impl<T: Bind + Clone> Bind for &T {
    const NULL: Value = T::NULL;

    fn bind(self) -> Value {
        self.clone().bind()
    }
}

/// One column of a result row, borrowed from the driver.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'r> {
    Null,
    /// An integer.
    Int(i64),
    Text(&'r str),
    Bytes(&'r [u8]),
    /// A boolean, which SQLite stores as 0 or 1.
    Bool(bool),
}

/// A type that can be read from a cell.
pub trait Column: Sized {
    /// The value, or `None` if the cell has another type or an invalid value.
    fn read(cell: Cell<'_>) -> Option<Self>;
}

impl<T: Column> Column for Option<T> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            other => T::read(other).map(Some),
        }
    }
}

impl Column for i64 {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Int(value) = cell { Some(value) } else { None }
    }
}

impl Column for UnixMillis {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell).map(Self)
    }
}

impl Column for bool {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Bool(value) => Some(value),
            Cell::Int(0) => Some(false),
            Cell::Int(1) => Some(true),
            _ => None,
        }
    }
}

impl Column for String {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Text(text) = cell { Some(text.to_owned()) } else { None }
    }
}

impl Column for Vec<u8> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Bytes(bytes) = cell { Some(bytes.to_vec()) } else { None }
    }
}

impl<const N: usize> Column for [u8; N] {
    fn read(cell: Cell<'_>) -> Option<Self> {
        if let Cell::Bytes(bytes) = cell { bytes.try_into().ok() } else { None }
    }
}

macro_rules! parsed_text {
    ($($type:ty),+ $(,)?) => {$(
        impl Bind for $type {
            const NULL: Value = Value::Text(None);

            fn bind(self) -> Value {
                Value::Text(Some(Cow::Owned(self.to_string())))
            }
        }

        impl Column for $type {
            fn read(cell: Cell<'_>) -> Option<Self> {
                if let Cell::Text(text) = cell { text.parse().ok() } else { None }
            }
        }
    )+};
}

parsed_text!(
    id::WorkspaceId,
    id::UserId,
    id::AgentId,
    id::CredentialId,
    id::GrantId,
    id::TaskId,
    id::SessionId,
    id::NodeId,
    id::ResponseId,
    id::TxnId,
    id::HistoryRequestId,
    id::ScoreJobId,
    id::ErasureId,
    id::ScoreReviewId,
    id::ScorerChangeId,
    id::ApiKeyId,
    id::AccessTokenId,
    id::ConnectionId,
    id::StagedPolicyId,
    id::PasskeyId,
    id::CeremonyId,
    id::WebhookId,
    id::DeliveryId,
    id::ChatMessageId,
    id::PushSubscriptionId,
    StampName,
    Nullifier,
);

/// Enums with `as_str` and `from_name` are stored under their wire names.
macro_rules! named_text {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::db::value::Bind for $type {
            const NULL: $crate::db::value::Value = $crate::db::value::Value::Text(None);

            fn bind(self) -> $crate::db::value::Value {
                $crate::db::value::Value::Text(Some(std::borrow::Cow::Borrowed(self.as_str())))
            }
        }

        impl $crate::db::value::Column for $type {
            fn read(cell: $crate::db::value::Cell<'_>) -> Option<Self> {
                if let $crate::db::value::Cell::Text(text) = cell { Self::from_name(text) } else { None }
            }
        }
    )+};
}
pub(crate) use named_text;

named_text!(
    approval_mode::ApprovalMode,
    approval_mode::Channel,
    approval_mode::Role,
    approval_mode::ApprovalState,
    approval_mode::ForwardState
);
named_text!(pyxis_core::task::TaskState);
named_text!(pyxis_core::webhook::WebhookEvent);
named_text!(pyxis_core::chat::ChatPlatform);

/// Defines an enum that is stored by name.
macro_rules! stored_enum {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name {
            $($(#[$vdoc])* $variant),+
        }

        impl $name {
            /// Every variant.
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Stored name.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The variant with exactly this name.
            $vis fn from_name(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == text)
            }
        }

        $crate::db::named_text!($name);
    };
}
pub(crate) use stored_enum;

mod scoring;
mod verification;

impl Bind for pyxis_core::auth::Connector {
    const NULL: Value = Value::Text(None);

    fn bind(self) -> Value {
        Value::Text(Some(Cow::Borrowed(self.as_str())))
    }
}

impl Column for pyxis_core::auth::Connector {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text("direct") => Some(Self::Direct),
            Cell::Text("sidecar") => Some(Self::Sidecar),
            _ => None,
        }
    }
}
