//! Agents: the programs that may send requests.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/agents`.
#[derive(Clone, Debug, Template)]
#[template(path = "agents.html")]
pub struct AgentsPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The agents found, by name.
    pub agents: Vec<AgentLine>,
    /// For the empty state: a `curl` that makes the first request.
    pub first_request: String,
}

/// One agent in the list.
#[derive(Clone, Debug)]
pub struct AgentLine {
    pub id: String,
    pub name: String,
    /// Start of the key: `pxk_3fA…`.
    pub key_hint: String,
    /// True if someone received a key.
    pub has_key: bool,
    /// True if its key works.
    pub enabled: bool,
    /// Requests in the current hour and the limit: `12 of 100 this hour`, `12 this hour, no limit`.
    pub usage: String,
    /// `all credentials`, `billing-api, mail`, `none`.
    pub credentials: String,
    /// Last request.
    pub last_seen: Option<Timestamp>,
}

/// The form for a new agent or a changed one. Fields: `name`, `rate_limit_per_hour` (blank: no
/// limit), `max_pending` (blank: 100), `scope` (`all` or `some`), `credential` (repeated; read with `scope=some`).
#[derive(Clone, Debug, Default)]
pub struct AgentForm {
    pub name: String,
    /// Digits, or empty.
    pub rate_limit_per_hour: String,
    /// Digits, or empty.
    pub max_pending: String,
    /// True if it may use every credential, including ones added later.
    pub all_credentials: bool,
    /// Credentials of the workspace.
    pub credentials: Vec<Choice>,
    pub problems: Problems,
}

/// `GET /app/new/agent`; posts to `/app/agents`.
#[derive(Clone, Debug, Template)]
#[template(path = "agent_new.html")]
pub struct NewAgentPage {
    pub shell: Layout,
    pub form: AgentForm,
}

/// `GET /app/agents/{id}`: change (`/edit`, fields of [`AgentForm`]), `/rotate`, `/disable`,
/// `/enable`, `/remove` (each with `csrf` only).
#[derive(Clone, Debug, Template)]
#[template(path = "agent.html")]
pub struct AgentPage {
    pub shell: Layout,
    pub agent: AgentLine,
    /// Time of creation.
    pub created: Timestamp,
    pub form: AgentForm,
    /// Programs that act as it with tokens, newest first.
    pub connections: Vec<ConnectionLine>,
}

/// A program that acts as the agent. `/app/connections/{id}/revoke` ends it.
#[derive(Clone, Debug)]
pub struct ConnectionLine {
    pub id: String,
    /// Name that the program gives itself.
    pub program: String,
    /// Host or scheme that the authorization code was sent to.
    pub destination: String,
    /// Person who consented.
    pub allowed_by: String,
    pub created: Timestamp,
    /// Time of the newest tokens.
    pub last_used: Timestamp,
}

/// Response to adding an agent or rotating its key: shows the key once. Never cached.
#[derive(Clone, Template)]
#[template(path = "agent_key.html")]
pub struct AgentKeyPage {
    pub shell: Layout,
    pub id: String,
    pub name: String,
    pub key: String,
    /// True if it replaces an older key, which no longer works.
    pub rotated: bool,
    /// Configurations of programs.
    pub guide: ConnectGuide,
    /// A `curl` with the key in it, if the agent may use a credential.
    pub curl: Option<String>,
}

/// Configurations of programs with an agent's key, and the place to ask for its first call.
#[derive(Clone)]
pub struct ConnectGuide {
    /// A command that puts the key into the environment.
    pub environment: String,
    /// True if the command contains the key, false if a placeholder.
    pub has_key: bool,
    pub programs: Vec<ProgramConfiguration>,
    /// URL of the page for agents that send HTTP themselves.
    pub instructions: String,
    /// Where the page asks for the agent's latest message.
    pub seen_at: String,
    /// Time of the page: a later message is a new call.
    pub since: String,
    /// Time of the agent's latest message so far.
    pub last_seen: Option<Timestamp>,
}

impl std::fmt::Debug for ConnectGuide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectGuide").field("seen_at", &self.seen_at).finish_non_exhaustive()
    }
}

/// The configuration of one program.
#[derive(Clone, Debug)]
pub struct ProgramConfiguration {
    pub label: &'static str,
    /// Place of the text: a file, or an action.
    pub place: &'static str,
    pub text: String,
}

/// `GET /app/agents/{id}/connect`: how programs use the key, without the key.
#[derive(Clone, Debug, Template)]
#[template(path = "agent_connect.html")]
pub struct AgentConnectPage {
    pub shell: Layout,
    pub id: String,
    pub name: String,
    /// `None` until someone received a key; the page then creates one (`POST /app/agents/{id}/rotate`).
    pub guide: Option<ConnectGuide>,
}

impl std::fmt::Debug for AgentKeyPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentKeyPage").field("name", &self.name).finish_non_exhaustive()
    }
}

in_section!(
    AgentsPage => Agents, NewAgentPage => Agents, AgentPage => Agents, AgentKeyPage => Agents,
    AgentConnectPage => Agents
);
