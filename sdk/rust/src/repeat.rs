//! Failures of a request that may be answered by sending it again.

/// Failures after which a request may be sent again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat {
    /// After no response, although the request may have arrived.
    pub(crate) after_silence: bool,
    pub(crate) statuses: &'static [u16],
    /// Codes of the server itself (`PX-Error`).
    pub(crate) codes: &'static [&'static str],
}

/// Requests that change nothing, or the same twice.
pub(crate) const READ: Repeat = Repeat { after_silence: true, statuses: &[429, 502, 503, 504], codes: &[] };
/// Questions of agents.
pub(crate) const POLL: Repeat =
    Repeat { after_silence: true, statuses: &[502, 503, 504], codes: &["unavailable", "busy"] };
/// Changes that are not the same when made twice.
pub(crate) const CHANGE: Repeat = Repeat { after_silence: false, statuses: &[], codes: &["busy"] };
/// Forwarded requests. A status alone may be the upstream's, so only codes of the server itself count.
pub(crate) const FORWARD_ONCE: Repeat =
    Repeat { after_silence: false, statuses: &[], codes: &["rate_limited", "unavailable", "busy"] };
/// Forwarded requests with an idempotency key, or a method that changes nothing.
pub(crate) const FORWARD_SAFE: Repeat = Repeat {
    after_silence: true,
    statuses: &[],
    codes: &["rate_limited", "unavailable", "busy", "idempotency_in_progress"],
};
