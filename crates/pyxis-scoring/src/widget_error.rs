//! Reasons to refuse a page's request.

use http::StatusCode;
use pyxis_core::BoxError;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::ScorerId;

/// Reasons to refuse a page's request.
#[derive(Debug, thiserror::Error)]
pub enum WidgetError {
    #[error("a publishable key outside the widget's paths")]
    PublishableKey,
    #[error("a server key in a page")]
    ServerKey,
    #[error("no origin")]
    NoOrigin,
    #[error("origin {0} is not allowed")]
    OriginNotAllowed(String),
    #[error("the key reads scorer {0}")]
    OtherScorer(ScorerId),
    #[error("no session")]
    NoSession,
    /// The message is not the one that the page should have had signed.
    #[error("wrong message: {0}")]
    Message(String),
    #[error("the nonce is unknown, used or expired")]
    Nonce,
    #[error("not the address's signature")]
    Signature,
    /// Only a node can check a contract's signature.
    #[error("no node of chain {0}")]
    NoNode(u64),
    #[error("a review is open")]
    ReviewOpen,
    #[error("the next review can be asked for later")]
    ReviewTooSoon(UnixMillis),
    #[error("too many reviews are open")]
    ReviewsFull,
    #[error("the node does not answer")]
    Node(#[source] BoxError),
}

impl WidgetError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::PublishableKey
            | Self::ServerKey
            | Self::NoOrigin
            | Self::OriginNotAllowed(_)
            | Self::OtherScorer(_) => StatusCode::FORBIDDEN,
            Self::NoSession | Self::Nonce | Self::Signature => StatusCode::UNAUTHORIZED,
            Self::ReviewOpen | Self::ReviewTooSoon(_) | Self::ReviewsFull => StatusCode::CONFLICT,
            Self::Message(_) | Self::NoNode(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Node(_) => StatusCode::BAD_GATEWAY,
        }
    }

    /// Name of the reason, for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::PublishableKey => "publishable_key",
            Self::ServerKey => "server_key",
            Self::NoOrigin => "origin_missing",
            Self::OriginNotAllowed(_) => "origin_not_allowed",
            Self::OtherScorer(_) => "other_scorer",
            Self::NoSession => "session_needed",
            Self::Message(_) => "invalid_message",
            Self::Nonce => "nonce_expired",
            Self::Signature => "wrong_signature",
            Self::NoNode(_) => "no_node",
            Self::ReviewOpen => "review_open",
            Self::ReviewTooSoon(_) => "review_too_soon",
            Self::ReviewsFull => "reviews_full",
            Self::Node(_) => "node_unavailable",
        }
    }

    pub(crate) fn detail(&self) -> String {
        match self {
            Self::PublishableKey => "This is a publishable key, which works only for the widget. \
                 Use a server key here, and keep it on a server."
                .to_owned(),
            Self::ServerKey => "This is a server key, which must not be in a page. \
                 Use a publishable key, and revoke this one if the page was public."
                .to_owned(),
            Self::NoOrigin => {
                "The request has no single Origin header. A publishable key works only in pages of \
                 its allowed origins."
                    .to_owned()
            }
            Self::OriginNotAllowed(origin) => {
                format!(
                    "The key does not allow the origin {origin}. Add it to the key's origins, exactly as written here."
                )
            }
            Self::OtherScorer(scorer) => format!("This key reads scorer {scorer} only."),
            Self::NoSession => {
                "There is no session, or it has ended. Sign in with the wallet again.".to_owned()
            }
            Self::Message(fault) => format!("The signed message is refused: {fault}."),
            Self::Nonce => {
                "The nonce is unknown, already used or expired. Ask for a new one and sign again.".to_owned()
            }
            Self::Signature => "The signature is not by the address in the message.".to_owned(),
            Self::NoNode(chain) => format!(
                "The signature is not by a key of the address. A contract wallet's signature needs a node, and none \
                 is configured for chain {chain}. Switch the wallet to another network, or ask the operator to set \
                 rpc for this chain in PX_NETWORKS."
            ),
            Self::ReviewOpen => "You already asked for a review. It is not decided yet.".to_owned(),
            Self::ReviewTooSoon(from) => {
                format!(
                    "You asked for a review within the last 24 hours. Ask again from {}.",
                    from.to_rfc3339()
                )
            }
            Self::ReviewsFull => "Too many reviews wait for a decision. Ask again later.".to_owned(),
            Self::Node(_) => {
                "The node that checks the contract wallet's signature does not answer. Try again later."
                    .to_owned()
            }
        }
    }
}
