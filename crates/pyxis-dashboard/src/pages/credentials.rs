//! Stored credentials. Secrets are accepted here and never shown.

use axum::response::Response;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::auth::Connector;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hosts::over_public_suffix;
use pyxis_core::policy::Policy;
use pyxis_core::presets;
use pyxis_gateway::admin::agents::{self, AgentScope};
use pyxis_gateway::admin::credentials::{self, CredentialInput, CredentialPatch};
use pyxis_gateway::admin::{audit, connected_accounts, policies, workspaces};
use pyxis_gateway::{Config, CredentialOptions, Error as Service};
use pyxis_store::Store;
use pyxis_store::audit::{Appender, AuditFilter};
use pyxis_store::credentials::CredentialRow;
use pyxis_store::lists::{self, CredentialItem, SortKey};
use serde::Deserialize;

use super::agents::unprocessable;
use super::credential_form::{self as form, Attached};
use super::list_query::{ListQuery, ListSlot};
use super::table::{By, Table};
use super::{labels, mcp_tools, problem};
use crate::error::html;
use crate::form::{Fields, Page, PathId, SubmittedForm};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::credentials::{
    CredentialForm, CredentialKind, CredentialLine, CredentialPage, CredentialsPage, NewCredentialPage,
    ProbeResult, StarterPolicy,
};
use crate::view::{Layout, Problems, Timestamp};
use crate::{Error, State, text};

pub(crate) async fn list(
    Page { state, who, query: asked }: Page<Manager, ListQuery>,
) -> Result<Response, Error> {
    let store = &state.gateway.store;
    let list = lists::credentials(store.engine(), who.person.workspace(), None);
    if let Some(file) = TABLE.file(store, &asked, &list) {
        return Ok(file);
    }
    let (rows, search) = TABLE.page(store, "/app/credentials", &asked, &list).await?;
    let now = state.gateway.now();
    let credentials = rows.iter().map(|item| line(&item.row, policy(item), now)).collect();
    html(&CredentialsPage { shell: who.shell(&state).await?, search, credentials })
}

const TABLE: Table<CredentialItem, SortKey<CredentialItem>> = Table {
    name: "credentials",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|item| item.row.name.clone()), CredentialItem::NAME),
        ("description", By::Text(|item| item.row.description.clone()), CredentialItem::DESCRIPTION),
        ("sent_as", By::Text(|item| Attached::from_row(&item.row).summary()), CredentialItem::KIND),
        ("allowed_hosts", By::Text(|item| form::hosts(&item.row).join(" ")), CredentialItem::HOSTS),
        ("policy", By::Text(policy), CredentialItem::POLICY),
        ("last_used", By::Time(|item| item.row.last_used_at), CredentialItem::LAST_USED),
        ("created", By::Time(|item| Some(item.row.created_at)), CredentialItem::CREATED),
    ],
    usual: "name",
};

/// The credential's policy, in words.
fn policy(item: &CredentialItem) -> String {
    match item.policy.as_deref().map(|document| Policy::from_json(document.as_bytes())) {
        Some(Ok(policy)) => rules(&policy),
        Some(Err(_)) => "unreadable".to_owned(),
        None => without_policy(item.mode).to_owned(),
    }
}

fn rules(policy: &Policy) -> String {
    text::count_noun(labels::policy_rules(policy).len() as u64, "rule")
}

const fn without_policy(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Gated => "Gated: GET and HEAD are allowed",
        ApprovalMode::Autonomous => "Autonomous: everything is allowed",
    }
}

fn line(row: &CredentialRow, policy: String, now: UnixMillis) -> CredentialLine {
    CredentialLine {
        name: row.name.clone(),
        description: row.description.clone(),
        kind: Attached::from_row(row).summary(),
        allowed_hosts: form::hosts(row),
        policy,
        last_used: row.last_used_at.map(|at| Timestamp::new(at, now)),
    }
}

#[derive(Default, Deserialize)]
pub(crate) struct Chosen {
    #[serde(default)]
    kind: String,
    /// The preset to start from.
    #[serde(default)]
    preset: String,
    /// Search text for the presets.
    #[serde(default)]
    search: String,
}

pub(crate) async fn new(
    Page { state, who, query: Chosen { kind, preset, search } }: Page<Manager, Chosen>,
) -> Result<Response, Error> {
    let kind = CredentialKind::from_name(&kind).unwrap_or(CredentialKind::USUAL);
    let (kind, form) = presets::find(&preset).map_or((kind, CredentialForm::default()), form::preset);
    let starter = starter(&state.gateway.store, &who, &preset).await?;
    html(&NewCredentialPage {
        starter,
        ..new_page(&state.gateway.config, who.shell(&state).await?, kind, form, search)
    })
}

/// The starter policy of a preset, offered first where the workspace's mode asks at all.
async fn starter(store: &Store, who: &SignedIn, preset: &str) -> Result<Option<StarterPolicy>, Error> {
    let Some(preset) = presets::find(preset) else { return Ok(None) };
    let mode = workspaces::get(store, who.person.workspace()).await?.mode;
    Ok(Some(StarterPolicy {
        preset: preset.id.clone(),
        service: preset.name.clone(),
        rules: labels::every_policy_rule(preset.starter_policy()),
        mode: without_policy(mode).to_owned(),
        chosen: mode == ApprovalMode::Gated,
    }))
}

fn new_page(
    config: &Config,
    shell: Layout,
    kind: &'static CredentialKind,
    form: CredentialForm,
    search: String,
) -> NewCredentialPage {
    let found = if search.trim().is_empty() { Vec::new() } else { presets::search(&search) };
    let presets =
        found.iter().map(|preset| (preset.id.clone(), preset.name.clone(), preset.hosts.join(", ")));
    let redirect_uri = connected_accounts::redirect_uri(config);
    NewCredentialPage { shell, kind, form, redirect_uri, presets: presets.collect(), search, starter: None }
}

pub(crate) async fn add(
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let kind = CredentialKind::from_name(fields.get("kind")).ok_or(Error::NotFound)?;
    let problems = match form::both(kind, &fields) {
        Err(problems) => problems,
        Ok((auth, secret)) => {
            let api_base = Some(fields.trimmed("api_base")).filter(|_| kind.connector == Connector::Sidecar);
            let input = CredentialInput {
                name: fields.trimmed("name"),
                description: fields.trimmed("description"),
                connector: kind.connector,
                api_base,
                auth,
                allowed_hosts: fields.lines("allowed_hosts"),
                allow_http: fields.is_checked("allow_http"),
                options: CredentialOptions::default(),
                secret,
                policy: chosen_policy(&fields),
            };
            match credentials::create(&state.gateway, &who.person.actor(), input).await {
                Ok(row) => return Ok(Notice::CredentialAdded.redirect(state.cookies, &path(&row.name))),
                Err(error) => problem(error, "name", |name| form::field(kind, name))?,
            }
        }
    };
    let form = form::typed(kind, &fields, problems);
    let starter = starter(&state.gateway.store, &who, fields.get("preset")).await?;
    let starter =
        starter.map(|starter| StarterPolicy { chosen: fields.get("policy") == "starter", ..starter });
    let page = new_page(&state.gateway.config, who.shell(&state).await?, kind, form, String::new());
    Ok(unprocessable(html(&NewCredentialPage { starter, ..page })?))
}

/// The starter policy, if it was chosen.
fn chosen_policy(fields: &Fields) -> Option<Policy> {
    let preset = presets::find(fields.get("preset")).filter(|_| fields.get("policy") == "starter");
    preset.map(|preset| preset.starter_policy().clone())
}

/// Names are letters, digits, dots, dashes and underscores, so they need no escaping.
fn path(name: &str) -> String {
    format!("/app/credentials/{name}")
}

pub(crate) async fn show(
    Page { state, who, .. }: Page<Manager>,
    PathId(name): PathId,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    let form = Attached::from_row(&row).form(&row);
    page(&state, &who, &row, form).await
}

async fn page(
    state: &State,
    who: &SignedIn,
    row: &CredentialRow,
    form: CredentialForm,
) -> Result<Response, Error> {
    let now = state.gateway.now();
    let policy = match policies::by_id(&state.gateway.store, row.workspace_id, row.id).await? {
        Some(policy) => rules(&policy),
        None => {
            without_policy(workspaces::get(&state.gateway.store, row.workspace_id).await?.mode).to_owned()
        }
    };
    html(&CredentialPage {
        shell: who.shell(state).await?,
        credential: line(row, policy, now),
        kind: Attached::from_row(row).kind,
        mcp_url: mcp_tools::options(row).mcp_url,
        version: u64::try_from(row.version).unwrap_or(0),
        created: Timestamp::new(row.created_at, now),
        secret_replaced: Timestamp::new(
            replaced(&state.gateway.store, &state.gateway.audit, who, row).await?,
            now,
        ),
        agents: users_of(&state.gateway.store, who, row).await?,
        form,
        connectable: Attached::from_row(row).is_connectable(),
        disconnected: connected_accounts::is_needed(&state.gateway.store, &state.gateway.keyring, row)
            .await?,
        wide_hosts: wide_hosts(row),
        granted_scope: connected_accounts::granted_scope(&state.gateway.store, row).await?,
        redirect_uri: connected_accounts::redirect_uri(&state.gateway.config),
        warnings: credentials::warnings(&state.gateway.keyring, row),
        probe: credentials::probe(row).unwrap_or_default(),
        verified: row.verified_at.zip(row.verified_status).map(|(at, status)| verified(at, status, now)),
    })
}

fn wide_hosts(row: &CredentialRow) -> Vec<(String, String)> {
    let entries = form::hosts(row);
    over_public_suffix(&entries).map(|(entry, suffix)| (entry.to_owned(), suffix)).collect()
}

fn verified(at: UnixMillis, status: i64, now: UnixMillis) -> ProbeResult {
    let ago = text::relative(at, now);
    let meaning = match status {
        200..=399 => "the API accepted the request",
        401 | 403 => "the API does not accept this secret for this URL",
        404 => "the API has no such URL; try another one",
        _ => "the API rejected the request",
    };
    ProbeResult { good: (200..400).contains(&status), text: format!("{status}, {ago}: {meaning}.") }
}

/// Time at which the current version was set. The audit trail knows; version 1 came with the credential.
async fn replaced(
    store: &Store,
    appender: &Appender,
    who: &SignedIn,
    row: &CredentialRow,
) -> Result<UnixMillis, Error> {
    if row.version <= 1 {
        return Ok(row.created_at);
    }
    let filter = AuditFilter {
        events: vec![AuditEvent::CredentialSecretReplaced],
        credential: Some(row.name.clone()),
        limit: 1,
        ..AuditFilter::default()
    };
    let found = audit::search(store, appender, who.person.workspace(), &filter).await?;
    Ok(found.first().map_or(row.updated_at, |entry| entry.record.record.at))
}

async fn users_of(store: &Store, who: &SignedIn, row: &CredentialRow) -> Result<String, Error> {
    let agents = agents::list(store, who.person.workspace()).await?;
    let uses = |scope: &AgentScope| match scope {
        AgentScope::All => true,
        AgentScope::Named(names) => names.contains(&row.name),
    };
    let names: Vec<_> =
        agents.iter().filter(|agent| uses(&agent.credentials)).map(|agent| agent.row.name.as_str()).collect();
    Ok(match names.len() {
        0 => "no agent".to_owned(),
        all if all == agents.len() && all > 1 => "all agents".to_owned(),
        _ => names.join(", "),
    })
}

pub(crate) async fn edit(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    let kind = Attached::from_row(&row).kind;
    // What has nothing to configure keeps its stored form, and a signing key stays what it is.
    let configured = kind.has_hosts && (kind.headers.is_some() || !kind.settings.is_empty());
    let auth = match form::auth(kind, &fields) {
        Ok(auth) => auth,
        Err(problems) => return wrong(&state, &who, &row, form::typed(kind, &fields, problems)).await,
    };
    let patch = CredentialPatch {
        description: Some(fields.trimmed("description")),
        api_base: Some(fields.trimmed("api_base")).filter(|_| kind.connector == Connector::Sidecar),
        auth: auth.filter(|_| configured),
        allowed_hosts: Some(fields.lines("allowed_hosts")),
        allow_http: Some(fields.is_checked("allow_http")),
        options: None,
    };
    match credentials::update(&state.gateway, &who.person.actor(), &name, patch).await {
        Ok(row) => Ok(Notice::Saved.redirect(state.cookies, &path(&row.name))),
        Err(error) => {
            let problems = problem(error, "name", |name| form::field(kind, name))?;
            wrong(&state, &who, &row, form::typed(kind, &fields, problems)).await
        }
    }
}

async fn wrong(
    state: &State,
    who: &SignedIn,
    row: &CredentialRow,
    form: CredentialForm,
) -> Result<Response, Error> {
    Ok(unprocessable(page(state, who, row, form).await?))
}

pub(crate) async fn replace_secret(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    let attached = Attached::from_row(&row);
    let problems = match form::secret(attached.kind, &fields) {
        Err(problems) => problems,
        Ok(None) => {
            let mut problems = Problems::default();
            problems.add("secret", "Enter the new secret.");
            problems
        }
        Ok(Some(secret)) => {
            let done = credentials::replace_secret(&state.gateway, &who.person.actor(), &name, secret).await;
            match done {
                Ok(_) => return Ok(Notice::SecretReplaced.redirect(state.cookies, &path(&row.name))),
                Err(error) => problem(error, "secret", |name| form::field(attached.kind, name))?,
            }
        }
    };
    let mut form = CredentialForm { problems, ..attached.form(&row) };
    form.values.extend(form::typed_values(attached.kind.secret_fields(), &fields));
    wrong(&state, &who, &row, form).await
}

pub(crate) async fn verify(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let url = Some(fields.trimmed("url")).filter(|url| !url.is_empty());
    let done = credentials::verify(&state.gateway, &who.person.actor(), &name, url.as_deref()).await;
    let notice = match done {
        Ok(_) => Notice::Verified,
        Err(Service::InvalidTarget(_) | Service::InvalidField { .. }) => Notice::ProbeUrl,
        Err(Service::HostNotAllowed(_) | Service::TargetNotAllowed(_)) => Notice::ProbeHost,
        Err(Service::UpstreamTimeout | Service::ConnectTimeout) => Notice::ProbeTimeout,
        Err(Service::Upstream(_) | Service::Unreachable(_) | Service::BrokenAnswer { .. }) => {
            Notice::ProbeFailed
        }
        Err(Service::TokenEndpoint(_)) => Notice::ProbeToken,
        Err(Service::ReauthorizationRequired { .. }) => Notice::ProbeConnect,
        Err(error) => return Err(error.into()),
    };
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    Ok(notice.redirect(state.cookies, &path(&row.name)))
}

pub(crate) async fn remove(
    PathId(name): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    credentials::remove(&state.gateway.audited, &who.person.actor(), &name).await?;
    Ok(Notice::CredentialRemoved.redirect(state.cookies, "/app/credentials"))
}
