//! Requests and responses as plain values.

use std::time::Duration;

use bytes::Bytes;

use crate::repeat::Repeat;

/// A request without its key, which the transport adds.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// Escaped path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Bytes>,
    pub(crate) repeat: Repeat,
    /// Time that the server may take on purpose, in addition to the timeout.
    pub(crate) wait: Duration,
}

/// A complete response. Names of headers are in lower case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Response {
    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// The lack of a response.
#[derive(Debug, Clone)]
pub(crate) struct NoResponse {
    pub(crate) reason: String,
    /// False if the request certainly did not reach the server.
    pub(crate) may_have_arrived: bool,
    pub(crate) timed_out: bool,
    /// True if another attempt would fail alike.
    pub(crate) permanent: bool,
}
