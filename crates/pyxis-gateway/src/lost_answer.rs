//! Requests that may have been carried out although no answer came back.

use pyxis_core::policy::Method;
use serde::{Deserialize, Serialize};

/// Why the answer to a request that may have arrived is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostAnswer {
    /// This program stopped, or could not store the answer.
    NotStored,
    /// The connection ended before an answer came.
    Closed,
    /// The same, where the host asked for a client certificate and may not have accepted it.
    ClosedAfterCertificate,
    /// The host kept silent for too long.
    Timeout,
    /// The host answered, but not in a way that can be read.
    Unreadable,
}

impl LostAnswer {
    /// The failure of a request whose repetition could do something twice; `None` if nothing was sent or the method
    /// is safe (RFC 9110, section 9.2.1).
    pub(crate) fn of(error: &pyxis_net::Error, method: Method) -> Option<Self> {
        use pyxis_net::Error as E;
        if method.is_safe() || !error.was_sent() {
            return None;
        }
        match error {
            E::Timeout(_) => Some(Self::Timeout),
            E::Protocol(_) | E::TooLarge { .. } => Some(Self::Unreadable),
            // The agent broke off its own request, and is told so.
            E::RequestBody(_) => None,
            _ => Some(Self::Closed),
        }
    }

    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Self::NotStored => "the request was sent but its answer was lost; it is not sent again",
            Self::Closed => {
                "the host closed the connection before it answered: the request may have been carried out; it is not sent again"
            }
            Self::ClosedAfterCertificate => {
                "the host closed the connection before it answered (does it accept the client certificate?): the request may have been carried out; it is not sent again"
            }
            Self::Timeout => {
                "the host did not answer in time: the request may have been carried out; it is not sent again"
            }
            Self::Unreadable => {
                "the host's answer cannot be read: the request may have been carried out; it is not sent again"
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
            assert_eq!(LostAnswer::of(&closed(true), method).is_some(), changes, "{method}");
            assert_eq!(LostAnswer::of(&E::Timeout(Wait::FirstByte), method).is_some(), changes, "{method}");
            assert_eq!(LostAnswer::of(&closed(false), method), None, "{method}");
            assert_eq!(LostAnswer::of(&E::Timeout(Wait::Connect), method), None, "{method}");
            let refused = E::Connect(Arc::new(std::io::Error::other("refused")));
            assert_eq!(LostAnswer::of(&refused, method), None, "{method}");
        }
    }
}
