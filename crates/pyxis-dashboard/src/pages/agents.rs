//! Agents and their keys.

use std::collections::HashMap;

use axum::extract::State as Extract;
use axum::response::Response;
use http::StatusCode;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{AgentId, WorkspaceId};
use pyxis_core::secret::SecretString;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::agents::{self, Agent, AgentInput, AgentPatch, AgentScope};
use pyxis_gateway::admin::credentials;
use pyxis_gateway::admin::deny_all;

use super::labels::enabled;
use super::list_query::{ListQuery, ListSlot};
use super::table::{By, Table};
use super::{first_request, problem};
use crate::error::html;
use crate::form::{Fields, Form, PathId, QueryParams};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::agents::{AgentForm, AgentKeyPage, AgentLine, AgentPage, AgentsPage, NewAgentPage};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State};

pub(crate) async fn list(
    Extract(state): Extract<State>,
    Manager(who): Manager,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let used = agents::used_this_hour(&state.gateway.store, workspace, state.gateway.now()).await?;
    let mut all = agents::list(&state.gateway.store, workspace).await?;
    all.retain(|agent| asked.fits([agent.row.name.as_str(), &agent.row.key_hint]));
    let all: Vec<_> = all.into_iter().map(|agent| Counted::new(agent, &used)).collect();
    if let Some(file) = TABLE.file(&asked, &all) {
        return Ok(file);
    }
    let (shown, search) = TABLE.page("/app/agents", &asked, all);
    let agents = shown.iter().map(|one| line(&state, one)).collect();
    let first_request = first_request(&state, "<agent key>", None);
    html(&AgentsPage { shell: who.shell(&state).await?, search, agents, first_request })
}

/// An agent, and its requests in the current hour.
struct Counted {
    agent: Agent,
    used: i64,
}

impl Counted {
    fn new(agent: Agent, used: &HashMap<AgentId, i64>) -> Self {
        Self { used: used.get(&agent.row.id).copied().unwrap_or(0), agent }
    }
}

const TABLE: Table<Counted> = Table {
    name: "agents",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|one| one.agent.row.name.clone())),
        ("key", By::Text(|one| one.agent.row.key_hint.clone())),
        ("state", By::Text(|one| enabled(one.agent.row.disabled_at).to_owned())),
        ("may_use", By::Text(|one| reach(&one.agent.credentials))),
        ("used_this_hour", By::Number(|one| one.used)),
        (
            "limit_per_hour",
            By::Text(|one| one.agent.row.rate_limit_per_hour.map(|n| n.to_string()).unwrap_or_default()),
        ),
        ("last_seen", By::Time(|one| one.agent.row.last_used_at)),
    ],
    usual: "name",
};

fn reach(scope: &AgentScope) -> String {
    match scope {
        AgentScope::All => "all credentials".to_owned(),
        AgentScope::Named(names) if names.is_empty() => "none".to_owned(),
        AgentScope::Named(names) => names.join(", "),
    }
}

fn line(state: &State, Counted { agent, used }: &Counted) -> AgentLine {
    let row = &agent.row;
    let limit = row.rate_limit_per_hour;
    AgentLine {
        id: row.id.to_string(),
        name: row.name.clone(),
        key_hint: format!("{}…", row.key_hint),
        enabled: row.disabled_at.is_none(),
        usage: limit.map_or("no limit".to_owned(), |limit| format!("{used} of {limit} this hour")),
        credentials: reach(&agent.credentials),
        last_seen: row.last_used_at.map(|at| Timestamp::new(at, state.gateway.now())),
    }
}

pub(crate) async fn new(Extract(state): Extract<State>, Manager(who): Manager) -> Result<Response, Error> {
    let credentials = choices(&state, who.person.workspace(), |_| false).await?;
    let form = AgentForm { all_credentials: true, credentials, ..AgentForm::default() };
    html(&NewAgentPage { shell: who.shell(&state).await?, form })
}

async fn choices(
    state: &State,
    workspace: WorkspaceId,
    chosen: impl Fn(&str) -> bool,
) -> Result<Vec<Choice>, Error> {
    let rows = credentials::list(&state.gateway.store, workspace).await?;
    Ok(rows
        .into_iter()
        .map(|row| Choice { chosen: chosen(&row.name), label: row.name.clone(), value: row.name })
        .collect())
}

pub(crate) async fn add(
    Extract(state): Extract<State>,
    Form { who: Manager(who), fields }: Form<Manager>,
) -> Result<Response, Error> {
    let result = match limits(&fields) {
        Err(problems) => Err(problems),
        Ok((rate_limit_per_hour, max_pending)) => {
            let credentials = scope(&fields);
            let name = fields.trimmed("name");
            let input = AgentInput { name, rate_limit_per_hour, max_pending, credentials };
            match agents::create(&state.gateway, &who.person.actor(), input).await {
                Ok(made) => Ok(made),
                Err(error) => Err(problem(error, "name", field)?),
            }
        }
    };
    match result {
        Ok((agent, key)) => key_page(&state, &who, &agent, &key, false).await,
        Err(problems) => {
            let form = typed(&state, &who, &fields, problems).await?;
            let page = NewAgentPage { shell: who.shell(&state).await?, form };
            Ok(unprocessable(html(&page)?))
        }
    }
}

/// 422: the form is shown again with its problems.
pub(super) fn unprocessable(mut response: Response) -> Response {
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    response
}

/// Requests per hour, and requests that may be pending at once.
fn limits(fields: &Fields) -> Result<(Option<u32>, Option<u32>), Problems> {
    let mut problems = Problems::default();
    let mut number = |name: &'static str, wrong: &'static str| -> Option<u32> {
        let typed = fields.trimmed(name);
        let read = typed.parse().ok();
        if read.is_none() && !typed.is_empty() {
            problems.add(name, wrong);
        }
        read
    };
    let rate = number("rate_limit_per_hour", "Enter a whole number, or leave blank for no limit.");
    let pending = number("max_pending", "Enter a whole number, or leave blank for 100.");
    if problems.is_empty() { Ok((rate, pending)) } else { Err(problems) }
}

fn scope(fields: &Fields) -> AgentScope {
    if fields.get("scope") == "some" {
        AgentScope::Named(fields.all("credential").map(str::to_owned).collect())
    } else {
        AgentScope::All
    }
}

fn field(name: &str) -> &'static str {
    match name {
        "rate_limit_per_hour" => "rate_limit_per_hour",
        "max_pending" => "max_pending",
        "credentials" => "credential",
        _ => "name",
    }
}

/// The form as it was typed.
async fn typed(
    state: &State,
    who: &SignedIn,
    fields: &Fields,
    problems: Problems,
) -> Result<AgentForm, Error> {
    let ticked: Vec<&str> = fields.all("credential").collect();
    Ok(AgentForm {
        name: fields.trimmed("name"),
        rate_limit_per_hour: fields.trimmed("rate_limit_per_hour"),
        max_pending: fields.trimmed("max_pending"),
        all_credentials: scope(fields) == AgentScope::All,
        credentials: choices(state, who.person.workspace(), |name| ticked.contains(&name)).await?,
        problems,
    })
}

async fn key_page(
    state: &State,
    who: &SignedIn,
    agent: &Agent,
    key: &SecretString,
    rotated: bool,
) -> Result<Response, Error> {
    let usable = |name: &str| match &agent.credentials {
        AgentScope::All => true,
        AgentScope::Named(names) => names.iter().any(|named| named == name),
    };
    let rows = credentials::list(&state.gateway.store, who.person.workspace()).await?;
    let credential = rows.iter().find(|row| usable(&row.name));
    html(&AgentKeyPage {
        shell: who.shell(state).await?,
        id: agent.row.id.to_string(),
        name: agent.row.name.clone(),
        key: key.expose().clone(),
        rotated,
        curl: first_request(state, key.expose(), credential),
    })
}

/// Parses an agent id. A malformed one is not found.
fn agent_id(text: &str) -> Result<AgentId, Error> {
    text.parse().map_err(|_| Error::NotFound)
}

pub(crate) async fn show(
    Extract(state): Extract<State>,
    Manager(who): Manager,
    PathId(id): PathId,
) -> Result<Response, Error> {
    let agent = agents::get(&state.gateway.store, who.person.workspace(), agent_id(&id)?).await?;
    let named = match &agent.credentials {
        AgentScope::All => Vec::new(),
        AgentScope::Named(names) => names.clone(),
    };
    let form = AgentForm {
        name: agent.row.name.clone(),
        rate_limit_per_hour: agent.row.rate_limit_per_hour.map(|n| n.to_string()).unwrap_or_default(),
        max_pending: agent.row.max_pending.to_string(),
        all_credentials: agent.credentials == AgentScope::All,
        credentials: choices(&state, who.person.workspace(), |name| named.iter().any(|n| n == name)).await?,
        problems: Problems::default(),
    };
    page(&state, &who, &agent, form).await
}

async fn page(state: &State, who: &SignedIn, agent: &Agent, form: AgentForm) -> Result<Response, Error> {
    let used =
        agents::used_this_hour(&state.gateway.store, who.person.workspace(), state.gateway.now()).await?;
    let counted = Counted::new(agent.clone(), &used);
    html(&AgentPage {
        shell: who.shell(state).await?,
        created: Timestamp::new(agent.row.created_at, state.gateway.now()),
        agent: line(state, &counted),
        form,
    })
}

pub(crate) async fn edit(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who: Manager(who), fields }: Form<Manager>,
) -> Result<Response, Error> {
    let id = agent_id(&id)?;
    let problems = match limits(&fields) {
        Err(problems) => problems,
        Ok((rate_limit, max_pending)) => {
            let patch = AgentPatch {
                name: Some(fields.trimmed("name")),
                rate_limit_per_hour: Some(rate_limit),
                max_pending: Some(max_pending),
                credentials: Some(scope(&fields)),
                enabled: None,
            };
            match agents::update(&state.gateway.audited, &who.person.actor(), id, patch).await {
                Ok(_) => return Ok(Notice::Saved.then(&state, &format!("/app/agents/{id}"))),
                Err(error) => problem(error, "name", field)?,
            }
        }
    };
    let agent = agents::get(&state.gateway.store, who.person.workspace(), id).await?;
    let form = typed(&state, &who, &fields, problems).await?;
    Ok(unprocessable(page(&state, &who, &agent, form).await?))
}

pub(crate) async fn rotate(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who: Manager(who), .. }: Form<Manager>,
) -> Result<Response, Error> {
    let (agent, key) = agents::rotate(&state.gateway, &who.person.actor(), agent_id(&id)?).await?;
    key_page(&state, &who, &agent, &key, true).await
}

pub(crate) async fn disable(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who, .. }: Form<Manager>,
) -> Result<Response, Error> {
    switch(&state, &who, &id, false).await?;
    Ok(Notice::AgentDisabled.then(&state, &format!("/app/agents/{}", agent_id(&id)?)))
}

/// Disables the agent and denies its pending requests; returns to the page that had the button.
pub(crate) async fn deny_all(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who: Manager(who), fields }: Form<Manager>,
) -> Result<Response, Error> {
    let id = agent_id(&id)?;
    let reason = Some(fields.text("reason")).filter(|reason| !reason.trim().is_empty());
    let surface = DecisionSurface::Dashboard;
    deny_all::deny_all(&state.gateway, &who.person, surface, id, reason.as_deref()).await?;
    let back =
        if fields.get("from") == "inbox" { "/app/inbox".to_owned() } else { format!("/app/agents/{id}") };
    Ok(Notice::DeniedAll.then(&state, &back))
}

pub(crate) async fn enable(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who, .. }: Form<Manager>,
) -> Result<Response, Error> {
    switch(&state, &who, &id, true).await?;
    Ok(Notice::AgentEnabled.then(&state, &format!("/app/agents/{}", agent_id(&id)?)))
}

async fn switch(state: &State, who: &SignedIn, id: &str, enabled: bool) -> Result<Agent, Error> {
    let patch = AgentPatch { enabled: Some(enabled), ..AgentPatch::default() };
    let done: Result<Agent, Service> =
        agents::update(&state.gateway.audited, &who.person.actor(), agent_id(id)?, patch).await;
    Ok(done?)
}

pub(crate) async fn remove(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who, .. }: Form<Manager>,
) -> Result<Response, Error> {
    agents::remove(&state.gateway.audited, &who.person.actor(), agent_id(&id)?).await?;
    Ok(Notice::AgentRemoved.then(&state, "/app/agents"))
}
