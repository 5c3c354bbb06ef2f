//! Requests without a response that may have been executed.

use http::StatusCode;
use pyxis_core::policy::Method;
use serde::{Deserialize, Serialize};

/// Reason that the response to a possibly executed request is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostAnswer {
    /// This program stopped, or could not store the response.
    NotStored,
    /// The connection ended before a response arrived.
    Closed,
    /// The connection ended, and the host had asked for a client certificate that it may not have accepted.
    ClosedAfterCertificate,
    /// The host stayed silent for too long.
    Timeout,
    /// The host's response could not be parsed.
    Unreadable,
    /// A sidecar received no readable response from the host, and does not report which of the above applies.
    Missing,
}

impl LostAnswer {
    /// The reason for a request that must not be repeated. `None` if nothing was sent or the method is safe (RFC 9110,
    /// section 9.2.1).
    pub(crate) fn from_error(error: &pyxis_net::Error, method: Method) -> Option<Self> {
        use pyxis_net::Error as E;
        if method.is_safe() || !error.was_sent() {
            return None;
        }
        match error {
            E::Timeout(_) => Some(Self::Timeout),
            E::Protocol(_) | E::HeadTooLarge | E::TooLarge { .. } => Some(Self::Unreadable),
            E::Closed { .. } => Some(Self::Closed),
            // The agent's own body failed, and the agent is told so. In the other cases nothing was sent or processed.
            E::RequestBody(_)
            | E::Blocked(_)
            | E::Resolve(_)
            | E::Connect(_)
            | E::Tls(_)
            | E::Refused(_)
            | E::Unprocessed(_)
            | E::Invalid(_) => None,
        }
    }

    /// The reason if a sidecar answers `outcome_unknown` with this status.
    pub(crate) fn of_sidecar(status: StatusCode) -> Self {
        if status == StatusCode::GATEWAY_TIMEOUT { Self::Timeout } else { Self::Missing }
    }

    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Self::NotStored => {
                "the request was sent, but its response was lost; it may have been executed and is not sent again"
            }
            Self::Closed => {
                "the host closed the connection before it responded; the request may have been executed and \
                 is not sent again"
            }
            Self::ClosedAfterCertificate => {
                "the host closed the connection before it responded (it may not accept the client \
                 certificate); the request may have been executed and is not sent again"
            }
            Self::Timeout => {
                "the host did not respond in time; the request may have been executed and is not sent again"
            }
            Self::Unreadable => {
                "the host's response cannot be read; the request may have been executed and is not sent again"
            }
            Self::Missing => {
                "no readable response came from the host; the request may have been executed and is not sent again"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pyxis_net::{Error as E, Wait};

    use super::*;

    fn closed(sent: bool) -> E {
        E::Closed { sent, source: Arc::new(std::io::Error::other("closed")) }
    }

    #[test]
    fn only_what_was_sent_with_a_method_that_changes_things_may_have_happened() {
        for &method in Method::ALL {
            let changes = !matches!(method, Method::Get | Method::Head | Method::Options);
            assert_eq!(LostAnswer::from_error(&closed(true), method).is_some(), changes, "{method}");
            assert_eq!(
                LostAnswer::from_error(&E::Timeout(Wait::FirstByte), method).is_some(),
                changes,
                "{method}"
            );
            assert_eq!(LostAnswer::from_error(&closed(false), method), None, "{method}");
            assert_eq!(LostAnswer::from_error(&E::Timeout(Wait::Connect), method), None, "{method}");
            let refused = E::Connect(Arc::new(std::io::Error::other("refused")));
            assert_eq!(LostAnswer::from_error(&refused, method), None, "{method}");
            let unprocessed = E::Unprocessed(Arc::new(std::io::Error::other("refused")));
            assert_eq!(LostAnswer::from_error(&unprocessed, method), None, "{method}");
        }
    }

    #[test]
    fn a_host_that_answered_unreadably_is_not_said_to_have_closed_the_connection() {
        let garbled = E::Protocol(Arc::new(std::io::Error::other("garbled")));
        for error in [garbled, E::HeadTooLarge, E::TooLarge { max: 1 }] {
            assert_eq!(LostAnswer::from_error(&error, Method::Post), Some(LostAnswer::Unreadable), "{error}");
        }
        assert_eq!(LostAnswer::from_error(&closed(true), Method::Post), Some(LostAnswer::Closed));
        let own = E::RequestBody(Arc::new(std::io::Error::other("own")));
        assert_eq!(LostAnswer::from_error(&own, Method::Post), None);
    }
}
