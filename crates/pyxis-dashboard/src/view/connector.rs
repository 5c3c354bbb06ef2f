//! Pages on which a person lets a program act as an agent.

use askama::Template;

use super::{Choice, Problems};

/// `GET /app/oauth/consent`; posts to the same address: `csrf`, the fields of `request`, `agent` (an id, or
/// `new`). Also `name`, `scope` (`all` or `some`) and `credential` (repeated) for a new agent, and `answer`
/// (`allow` or `deny`).
#[derive(Clone, Debug, Template)]
#[template(path = "connector.html")]
pub struct ConnectorConsentPage {
    pub csrf: String,
    /// Signed-in person.
    pub user: String,
    pub workspace: String,
    /// Name that the program gives itself.
    pub program: String,
    /// Host that the program's metadata came from; `None` if it registered itself.
    pub verified_host: Option<String>,
    /// Host or scheme that the answer goes to.
    pub destination: String,
    /// True if the answer goes to a program on the person's own computer.
    pub is_local: bool,
    /// The client's request, to send along: names and values.
    pub request: Vec<(&'static str, String)>,
    /// Enabled agents of the workspace, then `new`.
    pub agents: Vec<Choice>,
    /// Name of the new agent, as typed or suggested.
    pub name: String,
    /// True if a new agent may use every credential.
    pub all_credentials: bool,
    /// Credentials of the workspace.
    pub credentials: Vec<Choice>,
    pub problems: Problems,
}

/// Response to a request that no person can answer. Nothing is sent to the program.
#[derive(Clone, Debug, Template)]
#[template(path = "connector_refused.html")]
pub struct ConnectorRefusedPage {
    /// Signed-in person.
    pub user: String,
    /// Reason, as the end of a sentence.
    pub reason: String,
    /// Host or scheme that the program can be told at, and the URL that does so.
    pub way_back: Option<(String, String)>,
}

/// Response to an answer: the browser goes on to the program. It is a page, because browsers apply the policy for form
/// targets to redirects too.
#[derive(Clone, Template)]
#[template(path = "connector_return.html")]
pub struct ConnectorReturnPage {
    /// Signed-in person.
    pub user: String,
    /// Name that the program gives itself.
    pub program: String,
    /// True if the person allowed the connection.
    pub allowed: bool,
    /// Where the browser goes. May have a code in it.
    pub url: String,
}

impl std::fmt::Debug for ConnectorReturnPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectorReturnPage").field("program", &self.program).finish_non_exhaustive()
    }
}
