//! Programs that agents run in, and how each is connected to the MCP server.
//!
//! A new one is one text file and one line in [`ALL`]. The command line, the dashboard and the guide show the same.

/// Path of the MCP server below the base URL.
pub const MCP_PATH: &str = "/mcp";
/// HTTP header with the id of an MCP session (protocol 2025-11-25, Streamable HTTP, "Session Management").
pub const MCP_SESSION: &str = "mcp-session-id";

/// A program that speaks MCP, or a way to speak it by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentClient {
    /// Name on the command line.
    pub name: &'static str,
    /// Name that people use.
    pub label: &'static str,
    /// Place of the text: a file, or an action.
    pub place: &'static str,
    template: &'static str,
}

/// Every program.
pub const ALL: &[AgentClient] = &[
    client(
        "claude-code",
        "Claude Code",
        "add to .mcp.json in your project",
        include_str!("agent_client/claude-code.txt"),
    ),
    client("codex", "Codex", "add to ~/.codex/config.toml", include_str!("agent_client/codex.txt")),
    client("cursor", "Cursor", "add to ~/.cursor/mcp.json", include_str!("agent_client/cursor.txt")),
    client(
        "vs-code",
        "VS Code",
        "add to .vscode/mcp.json in your project",
        include_str!("agent_client/vs-code.txt"),
    ),
    client(
        "gemini-cli",
        "Gemini CLI",
        "add to ~/.gemini/settings.json",
        include_str!("agent_client/gemini-cli.txt"),
    ),
    client(
        "opencode",
        "opencode",
        "add to opencode.json in your project",
        include_str!("agent_client/opencode.txt"),
    ),
    client(
        "langchain",
        "LangChain",
        "add to your program (langchain-mcp-adapters)",
        include_str!("agent_client/langchain.txt"),
    ),
    client(
        "openai-agents",
        "OpenAI Agents SDK",
        "add to your program",
        include_str!("agent_client/openai-agents.txt"),
    ),
    client("n8n", "n8n", "set in a workflow", include_str!("agent_client/n8n.txt")),
    client("curl", "curl", "run in a shell", include_str!("agent_client/curl.txt")),
];

const fn client(
    name: &'static str,
    label: &'static str,
    place: &'static str,
    template: &'static str,
) -> AgentClient {
    AgentClient { name, label, place, template }
}

impl AgentClient {
    /// The program with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|client| client.name == name)
    }

    /// The configuration for the MCP server at `url`. The key itself is not in it: it comes from the environment
    /// variable `key_env`, or is asked for.
    pub fn configuration(&self, url: &str, key_env: &str) -> String {
        self.template.replace("{key_env}", key_env).replace("{url}", url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_names_the_server_and_never_holds_a_key() {
        for client in ALL {
            let text = client.configuration("https://pyxis.example.org/mcp", "PX_AGENT_KEY");
            assert!(text.contains("https://pyxis.example.org/mcp"), "{}", client.name);
            assert!(!text.contains("{url}") && !text.contains("key_env"), "{}", client.name);
            let names_key = ["PX_AGENT_KEY", "${input:pyxis-key}", "agent key as the token"];
            assert!(names_key.iter().any(|name| text.contains(name)), "{}", client.name);
            assert_eq!(AgentClient::from_name(client.name), Some(client));
        }
    }

    #[test]
    fn configurations_in_json_are_json() {
        for client in ALL.iter().filter(|client| client.place.contains(".json")) {
            let text = client.configuration("https://pyxis.example.org/mcp", "PX_AGENT_KEY");
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}: {text}", client.name);
        }
    }
}
