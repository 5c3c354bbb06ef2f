//! Route of requests that use a credential.

use serde::{Deserialize, Serialize};

/// Route of requests that use a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connector {
    /// Straight to the target.
    #[default]
    Direct,
    /// To a signing sidecar, which forwards to the target.
    Sidecar,
}

impl Connector {
    /// The name on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Sidecar => "sidecar",
        }
    }
}
