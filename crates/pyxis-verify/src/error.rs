//! Errors of a question, and the one place that maps them to responses (`docs/reference/errors.md#verification`).

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use pyxis_core::address::EvmAddress;
use pyxis_core::entries::BadEntries;
use pyxis_store::StoreError;
use serde_json::json;

use crate::contracts::{Cause, Silence};
pub use pyxis_core::BoxError;

/// The only country of residence checks (`docs/reference/behavior/verification.md#checks`).
pub(crate) const COUNTRY: &str = "us";

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reasons for an error response.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Unknown credential type; the known ones of the path.
    #[error("unknown credential type")]
    UnknownKind(Vec<&'static str>),
    #[error("unknown country")]
    UnknownCountry,
    /// A parameter is missing.
    #[error("missing parameter: {0}")]
    Missing(&'static str),
    /// Not an address.
    #[error("invalid user address")]
    InvalidUser,
    /// List entries that are not addresses.
    #[error("invalid user addresses: {0}")]
    InvalidUsers(BadEntries),
    /// Not an action id.
    #[error("invalid action id")]
    InvalidAction,
    /// Not a block number, or one above the head.
    #[error("invalid snapshot")]
    InvalidSnapshot,
    /// No such network, or one without this check; the ones that have it, as the request names them.
    #[error("unsupported network")]
    UnsupportedNetwork(Vec<String>),
    /// A score strategy that contradicts itself, or has a malformed parameter.
    #[error("invalid strategy: {0}")]
    InvalidStrategy(Cow<'static, str>),
    /// A switch with another value than true, false, 1 or 0; its name.
    #[error("invalid {0}")]
    InvalidSwitch(&'static str),
    /// No such scorer is open to votes; those that are.
    #[error("unknown scorer")]
    UnknownScorer(Vec<String>),
    /// Scores that are not on record, so there is no answer about any.
    #[error("no score on record {moment}: {entries}")]
    NotRecorded {
        /// The addresses.
        entries: BadEntries,
        /// The moment, in words.
        moment: String,
    },
    /// More addresses than one request may have; the maximum.
    #[error("too many addresses: more than {0}")]
    TooManyAddresses(usize),
    /// Not a page number or size.
    #[error("invalid page")]
    InvalidPage,
    /// The path has no such method.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The required key is missing or wrong.
    #[error("invalid API key")]
    InvalidKey,
    /// Too many requests from this client in this minute.
    #[error("rate limited")]
    RateLimited {
        /// Seconds until the next minute.
        wait: i64,
    },
    /// The external index does not respond, so there is no answer.
    #[error("the attestation index does not answer")]
    Index(#[source] BoxError),
    /// No external index, or no attester, is configured.
    #[error("no attestation index is configured")]
    NotConfigured,
    /// A malformed body.
    #[error("invalid body: {0}")]
    InvalidBody(String),
    /// A source of proofs does not respond, so there is no answer.
    #[error("a source does not answer")]
    Unavailable(#[source] BoxError),
    /// The network's nodes lack a block or its state, although the block exists.
    #[error("the nodes are behind")]
    Behind(#[source] pyxis_evm::Error),
    /// A contract gave no answer about some of the addresses, so there is no answer about any.
    #[error("no answer of a contract")]
    Unanswered(#[source] Unanswered),
    /// Heights were counted by another clock, and its earlier answers would change.
    #[error("{0}")]
    OtherClock(String),
    /// A fault of the server.
    #[error("internal error")]
    Internal(#[source] BoxError),
}

/// The addresses for which a contract gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{user} and {more} more, contract {}: {}", silence.contract, silence.cause)]
pub struct Unanswered {
    /// The first of them.
    pub user: EvmAddress,
    /// Reason for its missing answer.
    pub silence: Silence,
    /// Number of other addresses without an answer.
    pub more: usize,
    /// Number of addresses with an answer.
    pub answered: usize,
}

impl Unanswered {
    /// Summarizes the unanswered addresses among `all`; `None` if there are none.
    pub(crate) fn summarize(
        mut silent: impl Iterator<Item = (EvmAddress, Silence)>,
        all: usize,
    ) -> Option<Self> {
        let (user, silence) = silent.next()?;
        let more = silent.count();
        Some(Self { user, silence, more, answered: all.saturating_sub(more + 1) })
    }

    /// Message for the client, without the contract's own text, which anyone may have written.
    fn public_message(&self) -> String {
        let Self { user, silence: Silence { contract, cause }, more, answered } = self;
        let why = match cause {
            Cause::Unfinished => "the call needs more gas or time than the nodes allow",
            Cause::Reverted(_) => "the contract reverted",
            Cause::Unreadable => "the contract's answer cannot be read",
        };
        let others = if *more == 0 { String::new() } else { format!(" and {more} other addresses") };
        let rest = match answered {
            0 => String::new(),
            count => format!(" The other {count} can be asked without it."),
        };
        format!("Contract {contract} gave no answer for {user}{others}: {why}.{rest}")
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Conflict { .. } => Self::Unavailable(error.into()),
            other => Self::Internal(other.into()),
        }
    }
}

impl From<pyxis_evm::Error> for Error {
    fn from(error: pyxis_evm::Error) -> Self {
        if error.is_behind() { Self::Behind(error) } else { Self::Unavailable(error.into()) }
    }
}

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::UnknownKind(_) | Self::UnknownCountry | Self::UnknownScorer(_) => StatusCode::NOT_FOUND,
            Self::NotRecorded { .. } => StatusCode::CONFLICT,
            Self::Missing(_)
            | Self::InvalidUser
            | Self::InvalidUsers(_)
            | Self::InvalidAction
            | Self::InvalidSnapshot
            | Self::InvalidStrategy(_)
            | Self::InvalidSwitch(_)
            | Self::UnsupportedNetwork(_)
            | Self::TooManyAddresses(_)
            | Self::InvalidPage
            | Self::InvalidBody(_) => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::InvalidKey => StatusCode::UNAUTHORIZED,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Index(_) => StatusCode::BAD_GATEWAY,
            Self::Unavailable(_)
            | Self::Behind(_)
            | Self::Unanswered(_)
            | Self::NotConfigured
            | Self::OtherClock(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    pub(crate) fn public_message(&self) -> Cow<'static, str> {
        match self {
            Self::UnknownKind(_) => "Unknown credential type".into(),
            Self::UnknownCountry => "Unknown country".into(),
            Self::Missing(what) => format!("Request query params do not include {what}").into(),
            Self::InvalidUser | Self::InvalidUsers(_) => "Invalid user address".into(),
            Self::InvalidAction => "Invalid action-id".into(),
            Self::InvalidSnapshot => "Snapshot is invalid".into(),
            Self::UnsupportedNetwork(_) => "Unsupported network".into(),
            Self::InvalidStrategy(message) => format!("Invalid strategy: {message}").into(),
            Self::InvalidSwitch(name) => format!("Invalid {name}: must be true, false, 1 or 0").into(),
            Self::UnknownScorer(_) => {
                "Unknown scorer, or one that is not open to votes: list it in PX_VOTE_SCORERS".into()
            }
            Self::NotRecorded { entries, moment } => {
                let count = entries.count;
                format!("No score on record {moment} for {count} of the addresses: leave them out, or take a later block")
                    .into()
            }
            Self::TooManyAddresses(most) => format!("Too many addresses: at most {most}").into(),
            Self::InvalidPage => "Invalid page".into(),
            Self::MethodNotAllowed => "Method not allowed: see Allow".into(),
            Self::InvalidKey => "Invalid API key".into(),
            Self::RateLimited { .. } => "Too many requests".into(),
            Self::Index(_) => "The attestation index does not answer. Try again later.".into(),
            Self::NotConfigured => "No attestation index is configured".into(),
            Self::InvalidBody(reason) => format!("Invalid body: {reason}").into(),
            Self::Unanswered(unanswered) => unanswered.public_message().into(),
            Self::Unavailable(_) | Self::Behind(_) | Self::OtherClock(_) => {
                "The source of proofs does not answer. Try again later.".into()
            }
            Self::Internal(_) => "Internal server error".into(),
        }
    }
}

impl Error {
    /// The sentence that a client reads, with the values that a parameter may have.
    pub fn message(&self) -> String {
        let known = self.known();
        if known.is_empty() {
            return self.public_message().into_owned();
        }
        format!("{}. Known: {}", self.public_message(), known.join(", "))
    }

    /// The values that the parameter may have, if it had an unknown one.
    fn known(&self) -> Vec<&str> {
        match self {
            Self::UnknownKind(known) => known.clone(),
            Self::UnknownCountry => vec![COUNTRY],
            Self::UnsupportedNetwork(known) | Self::UnknownScorer(known) => {
                known.iter().map(String::as_str).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = self.status();
        if status.is_server_error() {
            let cause = std::error::Error::source(&self).map(ToString::to_string);
            tracing::warn!(error = %self, cause, "verification request failed");
        }
        let mut body = json!({ "error": self.public_message() });
        if let Self::InvalidUsers(bad) | Self::NotRecorded { entries: bad, .. } = &self {
            body["invalid"] = json!(bad.named);
            body["invalid_count"] = bad.count.into();
        }
        let known = self.known();
        if !known.is_empty() {
            body["known"] = json!(known);
        }
        let mut response = (status, body.to_string()).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Self::RateLimited { wait } = &self {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from((*wait).max(1)));
        }
        if let Self::Unavailable(_) | Self::Behind(_) | Self::OtherClock(_) = &self {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_told_to_try_again_is_told_when() {
        let behind = pyxis_evm::Error::Behind("header not found".to_owned());
        for error in [
            Error::Behind(behind),
            Error::Unavailable("closed".into()),
            Error::OtherClock("block".to_owned()),
        ] {
            assert!(error.public_message().contains("Try again later"), "{error}");
            let response = error.into_response();
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers()[RETRY_AFTER], "5");
        }
        let again = |error: Error| error.into_response().headers().contains_key(RETRY_AFTER);
        assert!(again(Error::RateLimited { wait: 0 }));
        assert!(!again(Error::NotConfigured), "waiting does not help");
    }
}
