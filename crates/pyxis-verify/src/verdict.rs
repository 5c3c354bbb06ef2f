//! Verdicts about addresses.

use pyxis_core::clock::UnixMillis;

/// The answer about one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// It holds a live proof until then; `None` if the source has no expiry.
    Valid(Option<UnixMillis>),
    /// It holds no live proof.
    Invalid(Reason),
}

impl CheckVerdict {
    /// True if there is a live proof.
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Valid(_))
    }

    /// Combines two sources: one proof is enough. Of two negative verdicts, the one with the more specific reason.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Valid(one), Self::Valid(two)) => Self::Valid(one.max(two)),
            (Self::Valid(_), Self::Invalid(_)) => self,
            (Self::Invalid(reason), Self::Invalid(_)) if reason != Reason::None => self,
            (Self::Invalid(_), _) => other,
        }
    }

    /// The word for `explain`.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Valid(_) => "valid",
            Self::Invalid(reason) => reason.as_str(),
        }
    }
}

/// Reasons why an address holds no live proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It never had one.
    None,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
    /// The proof moved to the person's new address.
    Rebound,
    /// It has a proof for another action.
    OtherAction,
    /// It has a proof from an untrusted issuer.
    OtherIssuer,
    /// The address is blocked.
    Blocked,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Expired,
        Self::Revoked,
        Self::Rebound,
        Self::OtherAction,
        Self::OtherIssuer,
        Self::Blocked,
    ];

    /// Stable name in responses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Rebound => "rebound",
            Self::OtherAction => "other_action",
            Self::OtherIssuer => "other_issuer",
            Self::Blocked => "blocked",
        }
    }
}
