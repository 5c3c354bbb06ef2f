//! The state of a proxy.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::PROXY_AUTHORIZATION;
use pyxis_core::secret::SecretString;
use pyxis_net::Client;

use crate::authority::RunAuthority;
use crate::own_pages::OwnPages;
use crate::routes::Routes;
use crate::server::Server;

/// Longest time for a head or a handshake to arrive.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(30);
/// Most lines that are remembered, so that they are printed once.
const MAX_REMEMBERED: usize = 256;

/// Treatment of hosts that no credential allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherHosts {
    /// Connect to them and pass everything on unread.
    Tunnel,
    /// Refuse them.
    Refuse,
}

/// Parts that every connection uses.
pub(crate) struct ProxyState {
    pub(crate) server: Server,
    pub(crate) routes: Routes,
    pub(crate) others: OtherHosts,
    pub(crate) egress: Client,
    pub(crate) authority: RunAuthority,
    /// User name that clients send to the proxy.
    pub(crate) token: SecretString,
    pub(crate) notices: Notices,
    /// The proxy's own pages, if it has any.
    pub(crate) pages: Option<OwnPages>,
}

impl ProxyState {
    /// Prints a line, unless it was printed lately. A command or a person chose a part of it.
    pub(crate) fn notice(&self, text: &str) {
        self.notices.print(&text.replace(char::is_control, " "));
    }

    /// True for the proxy's token as the user name, with any password (RFC 7617).
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(PROXY_AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let Some((scheme, pair)) = value.to_str().ok().and_then(|text| text.split_once(' ')) else {
            return false;
        };
        let pair = STANDARD.decode(pair.trim()).unwrap_or_default();
        let user = pair.split(|byte| *byte == b':').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("basic") && self.token.matches(user)
    }
}

/// Lines for the person, each once.
pub(crate) struct Notices {
    print: fn(&str),
    printed: Mutex<BTreeSet<String>>,
}

impl Notices {
    /// No line yet.
    pub(crate) fn new(print: fn(&str)) -> Self {
        Self { print, printed: Mutex::default() }
    }

    fn print(&self, text: &str) {
        if self.remember(text) {
            (self.print)(text);
        }
    }

    /// True for a line that is not remembered. A client chooses the text, so that not all can be kept.
    fn remember(&self, text: &str) -> bool {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.contains(text) {
            return false;
        }
        if printed.len() >= MAX_REMEMBERED {
            printed.clear();
        }
        printed.insert(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_printed_once_and_the_memory_of_lines_is_bounded() {
        let notices = Notices::new(|_| {});
        assert!(notices.remember("a host"));
        assert!(!notices.remember("a host"));
        for number in 0..3 * MAX_REMEMBERED {
            notices.remember(&number.to_string());
        }
        assert!(notices.printed.lock().unwrap().len() <= MAX_REMEMBERED);
    }
}
