//! What is said about one address.

use pyxis_core::clock::UnixMillis;

/// The answer about one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// It holds a live proof until then; `None` where the source does not say.
    Valid(Option<UnixMillis>),
    /// It does not.
    Invalid(Reason),
}

impl CheckVerdict {
    /// True if there is a live proof.
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Valid(_))
    }

    /// This or that: one proof is enough. Of two that are none, the reason that says more.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Valid(one), Self::Valid(two)) => Self::Valid(one.max(two)),
            (Self::Valid(_), Self::Invalid(_)) => self,
            (Self::Invalid(reason), Self::Invalid(_)) if reason != Reason::None => self,
            (Self::Invalid(_), _) => other,
        }
    }

    /// What `explain` says of it.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Valid(_) => "valid",
            Self::Invalid(reason) => reason.as_str(),
        }
    }
}

/// Why an address holds no live proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It never had one.
    None,
    /// It has expired.
    Expired,
    /// It was revoked.
    Revoked,
    /// The human has another address now.
    Rebound,
    /// It has one, for another action.
    OtherAction,
    /// It has one, of an issuer who is not believed.
    OtherIssuer,
    /// The address is blocked.
    Blocked,
}

impl Reason {
    /// Its word in answers.
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
