//! The entry point through which an agent sent a request, if not the HTTP interface itself.

use std::time::Duration;

use http::request;

/// Longest client name in the audit trail, in characters.
const MAX_CLIENT: usize = 100;

/// Interface in front of `/forward`. Travels in the extensions of a request and is recorded with it.
///
/// Requests through one get the outcome of an identical earlier request that was decided while nobody waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Stable name, such as `mcp`.
    pub name: &'static str,
    /// Name and version that the client gives itself.
    pub client: Option<String>,
    /// Time to wait for a person's decision.
    pub wait: Duration,
    /// Tool of an MCP server that the request calls.
    pub tool: Option<String>,
}

impl EntryPoint {
    /// Name of `pyxis run`, the only entry point that runs outside the server and therefore names itself.
    pub(crate) const RUN: &'static str = "run";

    /// An entry point with a client's own words about itself, shortened and without control characters.
    pub fn new(name: &'static str, client: Option<&str>, wait: Duration) -> Self {
        let client =
            client.map(|text| text.chars().filter(|char| !char.is_control()).take(MAX_CLIENT).collect());
        Self { name, client, wait, tool: None }
    }

    /// The same for a call of a tool of an MCP server.
    #[must_use]
    pub fn calling(self, tool: &str) -> Self {
        Self { tool: Some(tool.to_owned()), ..self }
    }

    /// Time to wait for a decision: as long as the agent prefers, but no longer than this entry point.
    pub(crate) fn wait(&self, preferred: Option<Duration>) -> Duration {
        preferred.map_or(self.wait, |preferred| preferred.min(self.wait))
    }

    /// The entry point of a request.
    pub(crate) fn from_request(head: &request::Parts) -> Option<&Self> {
        head.extensions.get()
    }
}
