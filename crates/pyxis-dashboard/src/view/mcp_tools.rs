//! Tools of the MCP server behind a credential.

use askama::Template;

use super::{Layout, Problems, Timestamp, in_section};

/// `GET /app/credentials/{name}/tools`. Posts to `/mcp` (`mcp_url`; empty ends it), and `/tools` (`tool`,
/// `fingerprint`, `mode`; without `tool` it asks the server again).
#[derive(Clone, Debug, Template)]
#[template(path = "mcp_tools.html")]
pub struct McpToolsPage {
    pub shell: Layout,
    /// Name of the credential.
    pub credential: String,
    /// URL of its server; empty if it is one of an ordinary API.
    pub url: String,
    pub problems: Problems,
    /// Tools, those that changed first.
    pub tools: Vec<ToolView>,
}

/// One tool.
#[derive(Clone, Debug)]
pub struct ToolView {
    /// Name on its server.
    pub name: String,
    /// The server's description, as models read it.
    pub description: String,
    /// `pass`, `ask` or `deny`.
    pub mode: &'static str,
    /// True if it changed since a person set the permission.
    pub changed: bool,
    /// True if a person set the permission.
    pub decided: bool,
    /// True if the server's newest list has it.
    pub offered: bool,
    /// Fingerprint of the newest definition.
    pub fingerprint: String,
    /// Time of the newest definition.
    pub seen: Timestamp,
    /// Arguments: name, type, description.
    pub arguments: Vec<(String, String, String)>,
    /// The whole definition, indented.
    pub definition: String,
    /// Changes since the permission was set.
    pub differences: Vec<ToolDifference>,
}

/// One changed value of a definition.
#[derive(Clone, Debug)]
pub struct ToolDifference {
    /// Place in the definition.
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl ToolView {
    /// Values and labels of the permission.
    const MODES: [(&'static str, &'static str); 3] = [
        ("pass", "Allow: send at once"),
        ("ask", "Ask: a person approves each call"),
        ("deny", "Deny: refuse"),
    ];

    /// True if this is the permission.
    fn has(&self, mode: &str) -> bool {
        self.mode == mode
    }
}

in_section!(McpToolsPage => Credentials);
