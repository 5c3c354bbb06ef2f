//! Agents and their keys.

use axum::response::Response;
use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::WorkspaceId;
use pyxis_core::secret::SecretString;
use pyxis_core::window;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::agents::{self, Agent, AgentInput, AgentPatch, AgentScope};
use pyxis_gateway::admin::connections;
use pyxis_gateway::admin::credentials;
use pyxis_gateway::admin::deny_all;
use pyxis_store::Store;
use pyxis_store::agents::AgentRow;
use pyxis_store::credentials::CredentialRow;
use pyxis_store::lists::{self, AgentItem, SortKey};

use super::agent_connect;
use super::credential_form;
use super::labels::enabled;
use super::list_query::{ListQuery, ListSlot};
use super::table::{By, Table};
use super::{agent_id, first_request, problem};
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::agents::{
    AgentForm, AgentKeyPage, AgentLine, AgentPage, AgentsPage, ConnectionLine, NewAgentPage,
};
use crate::view::{Choice, Problems, Timestamp};
use crate::{Error, State};

pub(crate) async fn list(
    Page { state, who, query: asked }: Page<Manager, ListQuery>,
) -> Result<Response, Error> {
    let (store, now) = (&state.gateway.store, state.gateway.now());
    let list = lists::agents(who.person.workspace(), window::hour_start(now));
    if let Some(file) = TABLE.file(store, &asked, &list) {
        return Ok(file);
    }
    let (shown, search) = TABLE.page(store, "/app/agents", &asked, &list).await?;
    let agents = shown.iter().map(|one| line(&one.row, one.used, credential_summary(one), now)).collect();
    let first_request = first_request(&state.gateway.config, "<agent key>", None);
    html(&AgentsPage { shell: who.shell(&state).await?, search, agents, first_request })
}

const TABLE: Table<AgentItem, SortKey<AgentItem>> = Table {
    name: "agents",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|one| one.row.name.clone()), AgentItem::NAME),
        ("key", By::Text(|one| one.row.key_hint.clone()), AgentItem::KEY),
        ("state", By::Text(|one| enabled(one.row.disabled_at).to_owned()), AgentItem::STATE),
        ("may_use", By::Text(credential_summary), AgentItem::CREDENTIALS),
        ("used_this_hour", By::Number(|one| one.used), AgentItem::USED),
        (
            "limit_per_hour",
            By::Text(|one| one.row.rate_limit_per_hour.map(|n| n.to_string()).unwrap_or_default()),
            AgentItem::LIMIT,
        ),
        ("last_seen", By::Time(|one| one.row.last_used_at), AgentItem::LAST_USED),
    ],
    usual: "name",
};

/// `all credentials`, `billing-api, mail`, `none`.
fn credential_summary(item: &AgentItem) -> String {
    match &item.credentials {
        _ if item.row.all_credentials => "all credentials".to_owned(),
        None => "none".to_owned(),
        Some(names) => names.clone(),
    }
}

fn scope_words(scope: &AgentScope) -> String {
    match scope {
        AgentScope::All => "all credentials".to_owned(),
        AgentScope::Named(names) if names.is_empty() => "none".to_owned(),
        AgentScope::Named(names) => names.join(", "),
    }
}

fn line(row: &AgentRow, used: i64, credentials: String, now: UnixMillis) -> AgentLine {
    let limit = row.rate_limit_per_hour;
    AgentLine {
        id: row.id.to_string(),
        name: row.name.clone(),
        key_hint: if row.has_key() { format!("{}…", row.key_hint) } else { "none yet".to_owned() },
        has_key: row.has_key(),
        enabled: row.disabled_at.is_none(),
        usage: limit.map_or("no limit".to_owned(), |limit| format!("{used} of {limit} this hour")),
        credentials,
        last_seen: row.last_used_at.map(|at| Timestamp::new(at, now)),
    }
}

pub(crate) async fn new(Page { state, who, .. }: Page<Manager>) -> Result<Response, Error> {
    let credentials = choices(&state.gateway.store, who.person.workspace(), |_| false).await?;
    // Least privilege first, also before there is a credential.
    let form = AgentForm { all_credentials: false, credentials, ..AgentForm::default() };
    html(&NewAgentPage { shell: who.shell(&state).await?, form })
}

async fn choices(
    store: &Store,
    workspace: WorkspaceId,
    chosen: impl Fn(&str) -> bool,
) -> Result<Vec<Choice>, Error> {
    let rows = credentials::list(store, workspace).await?;
    Ok(rows
        .into_iter()
        .map(|row| Choice { chosen: chosen(&row.name), label: row.name.clone(), value: row.name })
        .collect())
}

pub(crate) async fn add(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
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
            let form = typed(&state.gateway.store, &who, &fields, problems).await?;
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
    store: &Store,
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
        credentials: choices(store, who.person.workspace(), |name| ticked.contains(&name)).await?,
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
    // A command with a placeholder could not be copied and run.
    let has_host =
        |row: &&CredentialRow| credential_form::hosts(row).iter().any(|host| !host.starts_with('*'));
    let credential = rows.iter().filter(|row| usable(&row.name)).find(has_host);
    let id = agent.row.id.to_string();
    // A new key has not been used, whatever the agent did with the one before.
    let guide =
        agent_connect::guide(&state.gateway.config, state.gateway.now(), &id, Some(key.expose()), None);
    html(&AgentKeyPage {
        shell: who.shell(state).await?,
        id,
        name: agent.row.name.clone(),
        key: key.expose().clone(),
        rotated,
        guide,
        curl: credential.map(|row| first_request(&state.gateway.config, key.expose(), Some(row))),
    })
}

pub(crate) async fn show(
    Page { state, who, .. }: Page<Manager>,
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
        credentials: choices(&state.gateway.store, who.person.workspace(), |name| {
            named.iter().any(|n| n == name)
        })
        .await?,
        problems: Problems::default(),
    };
    page(&state, &who, &agent, form).await
}

async fn page(state: &State, who: &SignedIn, agent: &Agent, form: AgentForm) -> Result<Response, Error> {
    let used =
        agents::used_this_hour(&state.gateway.store, who.person.workspace(), state.gateway.now()).await?;
    let used = used.get(&agent.row.id).copied().unwrap_or(0);
    let now = state.gateway.now();
    let seen = agents::last_seen(&state.gateway, who.person.workspace(), agent.row.id).await?;
    html(&AgentPage {
        shell: who.shell(state).await?,
        created: Timestamp::new(agent.row.created_at, now),
        agent: AgentLine {
            last_seen: seen.map(|at| Timestamp::new(at, now)),
            ..line(&agent.row, used, scope_words(&agent.credentials), now)
        },
        form,
        connections: connected_programs(&state.gateway.store, agent, now).await?,
    })
}

async fn connected_programs(
    store: &Store,
    agent: &Agent,
    now: UnixMillis,
) -> Result<Vec<ConnectionLine>, Error> {
    let rows = connections::list(store, agent.row.workspace_id, agent.row.id).await?;
    Ok(rows
        .into_iter()
        .map(|row| ConnectionLine {
            id: row.id.to_string(),
            program: row.client_name,
            destination: row.destination,
            allowed_by: row.allowed_by,
            created: Timestamp::new(row.created_at, now),
            last_used: Timestamp::new(row.last_used_at, now),
        })
        .collect())
}

pub(crate) async fn edit(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
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
            match agents::update(&state.gateway, &who.person.actor(), id, patch).await {
                Ok(_) => return Ok(Notice::Saved.redirect(state.cookies, &format!("/app/agents/{id}"))),
                Err(error) => problem(error, "name", field)?,
            }
        }
    };
    let agent = agents::get(&state.gateway.store, who.person.workspace(), id).await?;
    let form = typed(&state.gateway.store, &who, &fields, problems).await?;
    Ok(unprocessable(page(&state, &who, &agent, form).await?))
}

pub(crate) async fn rotate(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id = agent_id(&id)?;
    let before = agents::get(&state.gateway.store, who.person.workspace(), id).await?;
    let (agent, key) = agents::rotate(&state.gateway, &who.person.actor(), id).await?;
    key_page(&state, &who, &agent, &key, before.row.has_key()).await
}

pub(crate) async fn disable(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    switch(&state.gateway, &who, &id, false).await?;
    Ok(Notice::AgentDisabled.redirect(state.cookies, &format!("/app/agents/{}", agent_id(&id)?)))
}

/// Disables the agent and denies its pending requests; returns to the page that had the button.
pub(crate) async fn deny_all(
    PathId(id): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id = agent_id(&id)?;
    let reason = Some(fields.text("reason")).filter(|reason| !reason.trim().is_empty());
    let surface = DecisionSurface::Dashboard;
    deny_all::deny_all(&state.gateway, &who.person, surface, id, reason.as_deref()).await?;
    let back =
        if fields.get("from") == "inbox" { "/app/inbox".to_owned() } else { format!("/app/agents/{id}") };
    Ok(Notice::DeniedAll.redirect(state.cookies, &back))
}

pub(crate) async fn enable(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    switch(&state.gateway, &who, &id, true).await?;
    Ok(Notice::AgentEnabled.redirect(state.cookies, &format!("/app/agents/{}", agent_id(&id)?)))
}

async fn switch(
    gateway: &pyxis_gateway::State,
    who: &SignedIn,
    id: &str,
    enabled: bool,
) -> Result<Agent, Error> {
    let patch = AgentPatch { enabled: Some(enabled), ..AgentPatch::default() };
    let done: Result<Agent, Service> =
        agents::update(gateway, &who.person.actor(), agent_id(id)?, patch).await;
    Ok(done?)
}

pub(crate) async fn remove(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    agents::remove(&state.gateway, &who.person.actor(), agent_id(&id)?).await?;
    Ok(Notice::AgentRemoved.redirect(state.cookies, "/app/agents"))
}
