//! The state of a run.

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
use crate::routes::Routes;
use crate::server::Server;

/// Longest time for a head or a handshake to arrive.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(30);
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
    /// User name that the command sends to the proxy.
    pub(crate) token: SecretString,
    pub(crate) notice: fn(&str),
    /// Lines that were printed.
    pub(crate) noticed: Mutex<BTreeSet<String>>,
}

impl ProxyState {
    /// Prints a line, once.
    pub(crate) fn notice(&self, text: &str) {
        let is_new = self.noticed.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
        if is_new {
            (self.notice)(text);
        }
    }

    /// True for the token of this run as the user name, with any password (RFC 7617).
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
