//! The door through which an agent sent a request, if it was another than the HTTP interface itself.

use http::request;

/// Longest client name in the audit trail, in characters.
const MAX_CLIENT: usize = 100;

/// A door: an interface in front of `/forward`. Travels in the extensions of a request and is recorded with it.
///
/// Requests through a door get the outcome of an identical earlier request that was decided while nobody waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// Stable name, such as `mcp`.
    pub name: &'static str,
    /// Name and version that the client gives itself.
    pub client: Option<String>,
}

impl Door {
    /// A door with a client's own words about itself, shortened and without control characters.
    pub fn new(name: &'static str, client: Option<&str>) -> Self {
        let client =
            client.map(|text| text.chars().filter(|char| !char.is_control()).take(MAX_CLIENT).collect());
        Self { name, client }
    }

    /// The door of a request.
    pub(crate) fn of(head: &request::Parts) -> Option<&Self> {
        head.extensions.get()
    }
}
