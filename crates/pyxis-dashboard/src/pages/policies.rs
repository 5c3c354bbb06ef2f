//! Policies and grants.

use std::collections::HashMap;

use axum::extract::State as Extract;
use axum::response::Response;
use pyxis_core::eligibility;
use pyxis_core::id::{AgentId, CredentialId, GrantId};
use pyxis_core::policy::Policy;
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::policies::{self, Changed, Explanation};
use pyxis_gateway::admin::{agents, credentials, grants, people, rights, staged, workspaces};
use pyxis_store::credentials::CredentialRow;
use pyxis_store::grants::GrantRow;
use pyxis_store::passkeys;
use pyxis_store::users::UserRow;

use super::agents::unprocessable;
use super::list_query::{ListQuery, ListSlot};
use super::table::{By, Table};
use super::{labels, policy_form as form, problem};
use crate::error::html;
use crate::form::{Form, PathId, QueryParams};
use crate::notice::Notice;
use crate::session::{Manager, SignedIn};
use crate::view::policies::{
    Explain, GrantLine, PoliciesPage, PolicyExplanation, PolicyForm, PolicyLine, PolicyPage, ReplayChange,
    ReplayView, StagedLine,
};
use crate::view::{DecisionBadge, Timestamp};
use crate::{Error, State, text};

const HERE: &str = "/app/policies";
/// Groups of changed requests that a replay lists.
const MAX_GROUPS: usize = 100;

pub(crate) async fn list(
    Extract(state): Extract<State>,
    who: SignedIn,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let mode = workspaces::get(&state.gateway.store, workspace).await?.mode;
    let own: HashMap<CredentialId, Policy> =
        policies::list(&state.gateway.store, workspace).await?.into_iter().collect();
    let mut credentials = credentials::list(&state.gateway.store, workspace).await?;
    credentials.retain(|row| who.rights.may_edit(row.id));
    let found = credentials.iter().filter(|row| asked.fits([row.name.as_str(), &row.allowed_hosts]));
    let policies: Vec<_> = found
        .map(|row| PolicyLine {
            credential: row.name.clone(),
            own: own.contains_key(&row.id),
            rules: own.get(&row.id).map_or_else(|| labels::mode_rules(mode), labels::policy_rules),
        })
        .collect();
    let shell = who.shell(&state).await?;
    let mut grants = if shell.manager { grant_lines(&state, &who, &credentials).await? } else { Vec::new() };
    grants.retain(|(_, line)| {
        asked.fits([line.credential.as_str(), &line.route, &line.method, &line.agents, &line.by])
    });
    let mut staged = super::staged::lines(&state, &who).await?;
    staged.retain(|line| asked.fits([line.credential.as_str(), &line.by]));
    let file = POLICIES.file(&asked, &policies).or_else(|| GRANTS.file(&asked, &grants));
    if let Some(file) = file.or_else(|| STAGED.file(&asked, &staged)) {
        return Ok(file);
    }
    let (policies, search) = POLICIES.page(HERE, &asked, policies);
    let (grants, grant_search) = GRANTS.page(HERE, &asked, grants);
    let grants = grants.into_iter().map(|(_, line)| line).collect();
    let (staged, staged_search) = STAGED.page(HERE, &asked, staged);
    html(&PoliciesPage { shell, search, policies, staged_search, staged, grant_search, grants })
}

const POLICIES: Table<PolicyLine> = Table {
    name: "policies",
    place: ListSlot::First,
    columns: &[
        ("credential", By::Text(|line| line.credential.clone())),
        ("policy", By::Text(|line| if line.own { "its own" } else { "workspace mode" }.to_owned())),
        ("rules", By::Text(|line| line.rules.join("; "))),
    ],
    usual: "credential",
};

/// A grant, preceded by its number of uses.
type Used = (i64, GrantLine);

const GRANTS: Table<Used> = Table {
    name: "grants",
    place: ListSlot::Second,
    columns: &[
        ("method", By::Text(|(_, line)| line.method.clone())),
        ("route", By::Text(|(_, line)| line.route.clone())),
        ("credential", By::Text(|(_, line)| line.credential.clone())),
        ("agents", By::Text(|(_, line)| line.agents.clone())),
        ("opened_by", By::Text(|(_, line)| line.by.clone())),
        ("uses", By::Number(|(uses, _)| *uses)),
        ("ends", By::Time(|(_, line)| Some(line.expires.at))),
    ],
    usual: "",
};

const STAGED: Table<StagedLine> = Table {
    name: "proposals",
    place: ListSlot::Third,
    columns: &[
        ("credential", By::Text(|line| line.credential.clone())),
        ("proposed_by", By::Text(|line| line.by.clone())),
        ("proposed", By::Time(|line| Some(line.at.at))),
    ],
    usual: "",
};

async fn grant_lines(
    state: &State,
    who: &SignedIn,
    credentials: &[CredentialRow],
) -> Result<Vec<Used>, Error> {
    let workspace = who.person.workspace();
    let agents = agents::list(&state.gateway.store, workspace).await?;
    let agent = |id: AgentId| agents.iter().find(|a| a.row.id == id).map_or("?", |a| a.row.name.as_str());
    let credential =
        |id: CredentialId| credentials.iter().find(|c| c.id == id).map_or("?", |c| c.name.as_str());
    let line = |grant: GrantRow| {
        (
            grant.uses,
            GrantLine {
                id: grant.id.to_string(),
                method: grant.method,
                route: labels::short_route(&grant.route).to_owned(),
                credential: credential(grant.credential_id).to_owned(),
                agents: grant.agent_id.map_or("any agent".to_owned(), |id| format!("{} only", agent(id))),
                by: grant.created_by_email,
                expires: Timestamp::new(grant.expires_at, state.gateway.now()),
                used: match (grant.uses, grant.max_uses) {
                    (uses, Some(max)) => format!("{uses} of {max} times"),
                    (0, None) => "never".to_owned(),
                    (uses, None) => text::counted(u64::try_from(uses).unwrap_or(0), "time"),
                },
                revocable: true,
            },
        )
    };
    Ok(grants::list(&state.gateway.store, workspace, false, state.gateway.now())
        .await?
        .into_iter()
        .map(line)
        .collect())
}

/// The parts of the editor that differ between responses.
#[derive(Default)]
struct PolicyListItem {
    form: Option<PolicyForm>,
    explain: Explain,
    replay: Option<ReplayView>,
}

async fn page(state: &State, who: &SignedIn, name: &str, shown: PolicyListItem) -> Result<Response, Error> {
    let workspace = who.person.workspace();
    let row = credentials::get(&state.gateway.store, workspace, name).await?;
    who.require_policy(row.id)?;
    let mode = workspaces::get(&state.gateway.store, workspace).await?.mode;
    let stored = policies::get(&state.gateway.store, workspace, name).await?.map(|(_, policy)| policy);
    let chats = form::Chats::of(state);
    let mut warnings = match &stored {
        Some(policy) => form::warnings(policy, &approvers(state, &row, policy).await?, &chats),
        None => Vec::new(),
    };
    warnings.extend(policies::warnings(&row, stored.as_ref(), mode));
    let form =
        shown.form.unwrap_or_else(|| form::shown(&stored.clone().unwrap_or_else(starting_point), &chats));
    html(&PolicyPage {
        shell: who.shell(state).await?,
        credential: row.name,
        stored: stored.is_some(),
        mode: labels::mode(mode).to_owned(),
        form,
        warnings,
        explain: shown.explain,
        replay: shown.replay,
    })
}

/// The people who may approve with this policy.
async fn approvers(
    state: &State,
    row: &CredentialRow,
    policy: &Policy,
) -> Result<Vec<form::Approver>, Error> {
    let granted = rights::list(&state.gateway.store, row.workspace_id).await?;
    let assigned = |user: &UserRow| {
        granted.iter().any(|(whose, on, right)| *whose == user.id && *on == row.id && right.approve)
    };
    let mut people = people::list(&state.gateway.store, row.workspace_id).await?;
    people.retain(|user| {
        let listed = &policy.allowed_approvers;
        user.disabled_at.is_none() && eligibility::may_approve(user.role, assigned(user), listed, &user.email)
    });
    let owners = passkeys::owners(&state.gateway.store, row.workspace_id).await.map_err(Service::from)?;
    Ok(people.iter().map(|user| form::Approver { has_passkey: owners.contains(&user.id) }).collect())
}

/// A first policy starts like the gated mode: reading passes.
fn starting_point() -> Policy {
    Policy { auto_approve_methods: vec![pyxis_core::policy::Method::Get], ..Policy::default() }
}

pub(crate) async fn edit(
    Extract(state): Extract<State>,
    who: SignedIn,
    PathId(name): PathId,
) -> Result<Response, Error> {
    page(&state, &who, &name, PolicyListItem::default()).await
}

pub(crate) async fn save(
    Extract(state): Extract<State>,
    PathId(name): PathId,
    Form { who, fields }: Form<SignedIn>,
) -> Result<Response, Error> {
    let stored = stored(&state, &who, &name).await?;
    let problems = match form::policy(&fields, stored.as_ref()) {
        Err(problems) => problems,
        Ok(policy) => match keep(&state, &who, &name, &policy).await {
            Ok(response) => return Ok(response),
            Err(error) => problem(error, "methods", form::field)?,
        },
    };
    let typed = form::typed(&fields, &stored.unwrap_or_default(), &form::Chats::of(&state), problems);
    let shown = PolicyListItem { form: Some(typed), ..PolicyListItem::default() };
    Ok(unprocessable(page(&state, &who, &name, shown).await?))
}

/// Saves a manager's policy at once; a member's is staged.
async fn keep(state: &State, who: &SignedIn, name: &str, policy: &Policy) -> Result<Response, Service> {
    if !who.person.user.role.is_manager() {
        let staged = staged::propose(&state.gateway, &who.person, name, policy).await?;
        return Ok(Notice::PolicyStaged.then(state, &format!("/app/staged/{}", staged.row.id)));
    }
    policies::put(&state.gateway, &who.person.actor(), name, policy).await?;
    let row = credentials::get(&state.gateway.store, who.person.workspace(), name).await?;
    Ok(Notice::PolicySaved.then(state, &format!("/app/policies/{}", row.name)))
}

/// The stored policy, for anyone who may change it.
async fn stored(state: &State, who: &SignedIn, name: &str) -> Result<Option<Policy>, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), name).await?;
    who.require_policy(row.id)?;
    let found = policies::get(&state.gateway.store, who.person.workspace(), name).await?;
    Ok(found.map(|(_, policy)| policy))
}

pub(crate) async fn explain(
    Extract(state): Extract<State>,
    PathId(name): PathId,
    Form { who, fields }: Form<SignedIn>,
) -> Result<Response, Error> {
    let (method, url) = (fields.trimmed("method"), fields.trimmed("url"));
    stored(&state, &who, &name).await?;
    let workspace = who.person.workspace();
    let said = policies::explain(&state.gateway, workspace, &name, &method, &url, None).await?;
    let answer = Some(explained(said, &method));
    let shown = PolicyListItem { explain: Explain { method, url, answer }, ..PolicyListItem::default() };
    page(&state, &who, &name, shown).await
}

fn explained(said: Explanation, method: &str) -> PolicyExplanation {
    let (outcome, decision) = decision(said.decision);
    // The words name the pattern if one matched; the page shows it once.
    let rule = match &said.pattern {
        Some(_) => "the URL matches".to_owned(),
        None => labels::rule(said.rule, None, method),
    };
    PolicyExplanation {
        outcome,
        decision: decision.to_owned(),
        rule,
        pattern: said.pattern,
        detail: match said.warning {
            Some(warning) => format!("{} {}", super::sentence(&said.detail), super::sentence(warning)),
            None => super::sentence(&said.detail),
        },
    }
}

fn decision(name: &str) -> (DecisionBadge, &'static str) {
    match name {
        "auto_approve" => (DecisionBadge::Passed, "Allowed"),
        "require_approval" => (DecisionBadge::Pending, "Needs approval"),
        "deny" => (DecisionBadge::Denied, "Denied"),
        _ => (DecisionBadge::Failed, "Refused before any policy"),
    }
}

pub(crate) async fn replay(
    Extract(state): Extract<State>,
    PathId(name): PathId,
    Form { who, fields }: Form<SignedIn>,
) -> Result<Response, Error> {
    let stored = stored(&state, &who, &name).await?;
    let (problems, replay) = match form::policy(&fields, stored.as_ref()) {
        Err(problems) => (problems, None),
        Ok(draft) => {
            let last = fields.get("replay_count").parse().unwrap_or(policies::MAX_REPLAY);
            let workspace = who.person.workspace();
            let told = policies::replay(&state.gateway.store, workspace, &name, &draft, last).await?;
            (crate::view::Problems::default(), Some(grouped(&told)))
        }
    };
    let wrong = !problems.is_empty();
    let typed = form::typed(&fields, &stored.unwrap_or_default(), &form::Chats::of(&state), problems);
    let shown = PolicyListItem { form: Some(typed), replay, ..PolicyListItem::default() };
    let response = page(&state, &who, &name, shown).await?;
    Ok(if wrong { unprocessable(response) } else { response })
}

/// Requests to the same place that change in the same way are one line.
fn grouped(told: &policies::PolicyReplay) -> ReplayView {
    let mut changes: Vec<ReplayChange> = Vec::new();
    for change in &told.changed {
        let line = replay_change(change);
        let same = |other: &&mut ReplayChange| {
            (&other.method, &other.route, other.before, other.after, &other.rule)
                == (&line.method, &line.route, line.before, line.after, &line.rule)
        };
        match changes.iter_mut().find(same) {
            Some(found) => found.count += 1,
            None => changes.push(line),
        }
    }
    changes.sort_by_key(|change| std::cmp::Reverse(change.count));
    changes.truncate(MAX_GROUPS);
    ReplayView { considered: told.checked as u64, changed: told.changed.len() as u64, changes }
}

fn replay_change(change: &Changed) -> ReplayChange {
    ReplayChange {
        count: 1,
        method: change.method.clone(),
        route: labels::short_route(&change.target).to_owned(),
        before: decision(change.now.decision).0,
        after: decision(change.draft.decision).0,
        rule: labels::rule(change.draft.rule, change.draft.pattern.as_deref(), &change.method),
    }
}

pub(crate) async fn remove(
    Extract(state): Extract<State>,
    PathId(name): PathId,
    Form { who: Manager(who), .. }: Form<Manager>,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    policies::remove(&state.gateway.audited, &who.person.actor(), &name).await?;
    Ok(Notice::PolicyRemoved.then(&state, &format!("/app/policies/{}", row.name)))
}

pub(crate) async fn revoke(
    Extract(state): Extract<State>,
    PathId(id): PathId,
    Form { who: Manager(who), .. }: Form<Manager>,
) -> Result<Response, Error> {
    let id: GrantId = id.parse().map_err(|_| Error::NotFound)?;
    let notice = match grants::revoke(&state.gateway.audited, &who.person.actor(), id).await {
        Ok(()) => Notice::GrantRevoked,
        Err(Service::Conflict(_)) => Notice::GrantOver,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.then(&state, "/app/policies"))
}
