//! Typed identifiers.
//!
//! Most are UUID version 7 (RFC 9562), so that rows sort by creation. [`TxnId`] is version 4: it appears in links that
//! people forward, and must not reveal time or order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::UnixMillis;
use crate::entropy::{Entropy, bytes};

/// The text is not an identifier of this kind.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a UUID")]
pub struct InvalidId;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            /// Accepts only the hyphenated form, in either case.
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if text.len() != 36 {
                    return Err(InvalidId);
                }
                Uuid::try_parse(text).map(Self).map_err(|_| InvalidId)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

macro_rules! ordered_id {
    ($(#[$doc:meta])* $name:ident) => {
        id!($(#[$doc])* $name);

        impl $name {
            /// A new identifier, UUID version 7.
            pub fn new(now: UnixMillis, entropy: &dyn Entropy) -> Self {
                let random = bytes::<10>(entropy);
                let millis = u64::try_from(now.0).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
            }
        }
    };
}

ordered_id!(
    /// A workspace (a team): owner of every other row.
    WorkspaceId
);
ordered_id!(
    /// A person.
    UserId
);
ordered_id!(
    /// An agent, which is one agent key.
    AgentId
);
ordered_id!(
    /// A stored credential.
    CredentialId
);
ordered_id!(GrantId);
ordered_id!(TaskId);
ordered_id!(
    /// A sign-in session or token.
    SessionId
);
ordered_id!(
    /// One running process.
    NodeId
);
ordered_id!(
    /// One HTTP request to this server.
    RequestId
);
ordered_id!(
    /// A request for access to score history.
    HistoryRequestId
);
ordered_id!(
    /// A job that scores many addresses.
    ScoreJobId
);
ordered_id!(
    /// A receipt of an erased address.
    ErasureId
);
ordered_id!(ScoreReviewId);
ordered_id!(
    /// New terms of a scorer, from a moment on.
    ScorerChangeId
);
ordered_id!(
    /// A personal access token.
    AccessTokenId
);
ordered_id!(
    /// A program that acts as an agent with tokens of its own.
    ConnectionId
);
ordered_id!(
    /// A policy proposed by a member.
    StagedPolicyId
);
ordered_id!(PasskeyId);
id!(
    /// A passkey ceremony in progress: random, because it identifies the browser that began it.
    CeremonyId
);
ordered_id!(
    /// A webhook endpoint.
    WebhookId
);
ordered_id!(
    /// One event on its way to one webhook endpoint.
    DeliveryId
);
ordered_id!(
    /// A message about an approval in a chat.
    ChatMessageId
);
ordered_id!(
    /// A browser that subscribed to notifications.
    PushSubscriptionId
);
id!(
    /// An approval transaction.
    TxnId
);

id!(
    /// A long response that an agent reads in parts.
    ResponseId
);

impl ResponseId {
    /// A new identifier, UUID version 4.
    pub fn new(entropy: &dyn Entropy) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes::<16>(entropy)).into_uuid())
    }
}

impl TxnId {
    /// A new identifier, UUID version 4.
    pub fn new(entropy: &dyn Entropy) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes::<16>(entropy)).into_uuid())
    }
}

impl TaskId {
    /// The id of a task among those of transactions, where either can be the subject of a notification.
    pub const fn as_subject(self) -> TxnId {
        TxnId(self.0)
    }

    /// The task of an id that is not one of a transaction.
    pub const fn from_subject(subject: TxnId) -> Self {
        Self(subject.0)
    }
}

impl CeremonyId {
    /// A new identifier, UUID version 4.
    pub fn new(entropy: &dyn Entropy) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes::<16>(entropy)).into_uuid())
    }
}

/// A scorer: a positive integer, used in paths (`docs/reference/behavior/scoring.md#endpoints`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ScorerId(i64);

/// The text or number is not a scorer's.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a scorer number: write a positive integer")]
pub struct InvalidScorerId;

impl ScorerId {
    /// Always positive.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for ScorerId {
    type Error = InvalidScorerId;

    fn try_from(number: i64) -> Result<Self, InvalidScorerId> {
        if number > 0 { Ok(Self(number)) } else { Err(InvalidScorerId) }
    }
}

impl FromStr for ScorerId {
    type Err = InvalidScorerId;

    /// Decimal digits only.
    fn from_str(text: &str) -> Result<Self, InvalidScorerId> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidScorerId);
        }
        text.parse::<i64>().map_err(|_| InvalidScorerId)?.try_into()
    }
}

impl fmt::Display for ScorerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An API key of the scoring API: its identifier, not the key itself. Displayed as `key_` and 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApiKeyId([u8; 8]);

/// The text is not the identifier of an API key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an API key id: write key_ followed by 16 hex characters")]
pub struct InvalidApiKeyId;

impl ApiKeyId {
    /// A new identifier.
    pub fn new(entropy: &dyn Entropy) -> Self {
        Self(bytes(entropy))
    }
}

impl FromStr for ApiKeyId {
    type Err = InvalidApiKeyId;

    /// Accepts only lower-case digits: one spelling.
    fn from_str(text: &str) -> Result<Self, InvalidApiKeyId> {
        let digits = text.strip_prefix("key_").ok_or(InvalidApiKeyId)?;
        let lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits.len() != 16 || !lower {
            return Err(InvalidApiKeyId);
        }
        u64::from_str_radix(digits, 16).map(|id| Self(id.to_be_bytes())).map_err(|_| InvalidApiKeyId)
    }
}

impl fmt::Display for ApiKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key_{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ApiKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for ApiKeyId {
    type Error = InvalidApiKeyId;

    fn try_from(text: String) -> Result<Self, InvalidApiKeyId> {
        text.parse()
    }
}

impl From<ApiKeyId> for String {
    fn from(id: ApiKeyId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SeededEntropy;

    #[test]
    fn identifiers_sort_by_time_and_read_back() {
        let entropy = SeededEntropy::new(1);
        let early = AgentId::new(UnixMillis(1_000), &entropy);
        let late = AgentId::new(UnixMillis(2_000), &entropy);
        assert!(early < late);
        assert_eq!(early.to_string().parse(), Ok(early));
        assert_eq!(early.0.get_version_num(), 7);
    }

    #[test]
    fn a_transaction_id_is_version_4_and_takes_no_other_spelling() {
        let txn = TxnId::new(&SeededEntropy::new(2));
        assert_eq!(txn.0.get_version_num(), 4);
        let text = txn.to_string();
        assert_eq!(text.replace('-', "").parse::<TxnId>(), Err(InvalidId));
        assert_eq!(format!("{{{text}}}").parse::<TxnId>(), Err(InvalidId));
    }

    #[test]
    fn a_scorer_is_a_positive_integer_in_digits() {
        assert_eq!("17".parse::<ScorerId>().map(ScorerId::get), Ok(17));
        for text in ["", "0", "-1", "+1", "1.0", "x", "9223372036854775808"] {
            assert_eq!(text.parse::<ScorerId>(), Err(InvalidScorerId), "{text:?}");
        }
    }

    #[test]
    fn the_identifier_of_an_api_key_has_one_spelling() {
        let id = ApiKeyId::new(&SeededEntropy::new(3));
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "key_", "key_00", "0123456789abcdef", "key_0123456789ABCDEF", "key_+123456789abcdef"]
        {
            assert_eq!(text.parse::<ApiKeyId>(), Err(InvalidApiKeyId), "{text:?}");
        }
    }
}
