//! Facts about a request that was sent.

use http::StatusCode;
use serde::Serialize;
use tokio::time::Instant;

/// Data for the audit record of its outcome.
#[derive(Default)]
pub(crate) struct ExchangeMetrics {
    pub(crate) status: Option<StatusCode>,
    pub(crate) error: Option<&'static str>,
    pub(crate) head_micros: Option<u64>,
    pub(crate) total_micros: u64,
    pub(crate) bytes: u64,
    pub(crate) redactions: u64,
    /// The end of a WebSocket.
    pub(crate) socket: Option<SocketEnd>,
}

/// Data that went over a WebSocket in one direction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Traffic {
    /// Whole messages.
    pub(crate) messages: u64,
    /// Bytes of their payloads.
    pub(crate) bytes: u64,
}

/// The end of a WebSocket.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SocketEnd {
    /// From the agent to the host.
    pub(crate) sent: Traffic,
    /// From the host to the agent.
    pub(crate) received: Traffic,
    /// `agent`, `host` or `pyxis`.
    pub(crate) closed_by: &'static str,
    /// Status code of the first close frame, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) close_code: Option<u16>,
    /// Reason for which Pyxis closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
}

/// Elapsed microseconds.
pub(crate) fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}
