//! Agents: who may ask.

use askama::Template;

use super::{Choice, Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/agents`.
#[derive(Clone, Debug, Template)]
#[template(path = "agents.html")]
pub struct AgentsPage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// Those found, by name.
    pub agents: Vec<AgentLine>,
    /// For the empty state: a `curl` of the first request.
    pub first_request: String,
}

/// One agent in the list.
#[derive(Clone, Debug)]
pub struct AgentLine {
    /// Agent id.
    pub id: String,
    /// Name.
    pub name: String,
    /// How the key begins: `pxk_3fA…`.
    pub key_hint: String,
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
    /// Name.
    pub name: String,
    /// Digits, or empty.
    pub rate_limit_per_hour: String,
    /// Digits, or empty.
    pub max_pending: String,
    /// True if it may use every credential, later ones too.
    pub all_credentials: bool,
    /// Credentials of the workspace.
    pub credentials: Vec<Choice>,
    /// What is wrong.
    pub problems: Problems,
}

/// `GET /app/new/agent`; posts to `/app/agents`.
#[derive(Clone, Debug, Template)]
#[template(path = "agent_new.html")]
pub struct NewAgentPage {
    /// The frame.
    pub shell: Layout,
    /// The form.
    pub form: AgentForm,
}

/// `GET /app/agents/{id}`: change (`/edit`, fields of [`AgentForm`]), `/rotate`, `/disable`,
/// `/enable`, `/remove` (each with `csrf` only).
#[derive(Clone, Debug, Template)]
#[template(path = "agent.html")]
pub struct AgentPage {
    /// The frame.
    pub shell: Layout,
    /// The agent.
    pub agent: AgentLine,
    /// When it was added.
    pub created: Timestamp,
    /// The form.
    pub form: AgentForm,
}

/// The answer to adding or rotating: the key, this once. Never cached.
#[derive(Clone, Template)]
#[template(path = "agent_key.html")]
pub struct AgentKeyPage {
    /// The frame.
    pub shell: Layout,
    /// Agent id.
    pub id: String,
    /// Name of the agent.
    pub name: String,
    /// The key.
    pub key: String,
    /// True if it replaces an older one, which no longer works.
    pub rotated: bool,
    /// A `curl` with the key in it.
    pub curl: String,
}

impl std::fmt::Debug for AgentKeyPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentKeyPage").field("name", &self.name).finish_non_exhaustive()
    }
}

in_section!(AgentsPage => Agents, NewAgentPage => Agents, AgentPage => Agents, AgentKeyPage => Agents);
