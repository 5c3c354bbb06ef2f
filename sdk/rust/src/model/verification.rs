//! Checks of proofs.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::second::optional as unix_seconds;
use serde::{Deserialize, Serialize};

/// Kinds of proofs that make a person unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProofKind {
    GovId,
    Epassport,
    Phone,
    Biometrics,
}

impl ProofKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::GovId, Self::Epassport, Self::Phone, Self::Biometrics];

    /// The name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::GovId => "gov-id",
            Self::Epassport => "epassport",
            Self::Phone => "phone",
            Self::Biometrics => "biometrics",
        }
    }
}

impl std::str::FromStr for ProofKind {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            crate::Error::InvalidArgument(format!("unknown kind `{text}`; kinds: {}", names()))
        })
    }
}

/// The result of a check. A source that does not answer is an error, never false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verification {
    pub result: bool,
    /// `None` without a proof, and if the source has no expiry.
    #[serde(
        rename = "expirationDate",
        default,
        with = "unix_seconds",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires_at: Option<Timestamp>,
    /// If requested: `valid`, `none`, `expired`, `revoked`, `rebound`, `other_action`, `other_issuer` or `blocked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The result of the clean-hands check by the external index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CleanHands {
    pub result: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attestation_id: Option<String>,
    #[serde(default, with = "unix_seconds", skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
