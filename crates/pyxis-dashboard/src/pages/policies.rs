//! Policies and grants.

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::GrantId;
use pyxis_core::policy::{Policy, Rule};
use pyxis_gateway::Error as Service;
use pyxis_gateway::admin::approver_count::ApproverCount;
use pyxis_gateway::admin::explanation::{self, ExplainedRequest, Explanation};
use pyxis_gateway::admin::policies::{self, Changed};
use pyxis_gateway::admin::{credentials, grants, staged, workspaces};
use pyxis_store::Store;
use pyxis_store::lists::{self, CredentialItem, GrantItem, SortKey, StagedItem};

use super::agents::unprocessable;
use super::list_query::{ListQuery, ListSlot};
use super::table::{By, Table};
use super::{labels, mcp_tools, policy_form as form, problem};
use crate::error::html;
use crate::form::{Page, PathId, SubmittedForm};
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
    Page { state, who, query: asked }: Page<SignedIn, ListQuery>,
) -> Result<Response, Error> {
    let (store, workspace, now) = (&state.gateway.store, who.person.workspace(), state.gateway.now());
    let manager = who.person.user.role.is_manager();
    let mine = (!manager).then_some(who.person.user.id);
    let policies = lists::credentials(store.engine(), workspace, who.rights.editable());
    let grants = lists::grants(workspace, now).visible_if(manager);
    let staged = lists::staged_policies(workspace, mine, now);
    let file = POLICIES.file(store, &asked, &policies).or_else(|| GRANTS.file(store, &asked, &grants));
    if let Some(file) = file.or_else(|| STAGED.file(store, &asked, &staged)) {
        return Ok(file);
    }
    let (policies, search) = POLICIES.page(store, HERE, &asked, &policies).await?;
    let (grants, grant_search) = GRANTS.page(store, HERE, &asked, &grants).await?;
    let (staged, staged_search) = STAGED.page(store, HERE, &asked, &staged).await?;
    html(&PoliciesPage {
        shell: who.shell(&state).await?,
        search,
        policies: policies.iter().map(policy_line).collect(),
        staged_search,
        staged: staged.into_iter().map(|item| staged_line(item, now)).collect(),
        grant_search,
        grants: grants.iter().map(|item| grant_line(item, now)).collect(),
    })
}

const POLICIES: Table<CredentialItem, SortKey<CredentialItem>> = Table {
    name: "policies",
    place: ListSlot::First,
    columns: &[
        ("credential", By::Text(|item| item.row.name.clone()), CredentialItem::NAME),
        (
            "policy",
            By::Text(|item| if item.policy.is_some() { "its own" } else { "workspace mode" }.to_owned()),
            CredentialItem::POLICY,
        ),
        ("rules", By::Text(|item| rules(item).join("; ")), CredentialItem::RULES),
    ],
    usual: "credential",
};

const GRANTS: Table<GrantItem, SortKey<GrantItem>> = Table {
    name: "grants",
    place: ListSlot::Second,
    columns: &[
        ("method", By::Text(|item| item.row.method.to_string()), GrantItem::METHOD),
        ("route", By::Text(|item| labels::short_route(&item.row.route).to_owned()), GrantItem::ROUTE),
        ("credential", By::Text(|item| or_removed(item.credential.as_ref())), GrantItem::CREDENTIAL),
        ("agents", By::Text(agents), GrantItem::AGENTS),
        ("opened_by", By::Text(|item| item.row.created_by_email.clone()), GrantItem::OPENED_BY),
        ("uses", By::Number(|item| item.row.uses), GrantItem::USES),
        ("ends", By::Time(|item| Some(item.row.expires_at)), GrantItem::EXPIRES),
    ],
    usual: "",
};

const STAGED: Table<StagedItem, SortKey<StagedItem>> = Table {
    name: "proposals",
    place: ListSlot::Third,
    columns: &[
        ("credential", By::Text(|item| item.credential.clone()), StagedItem::CREDENTIAL),
        ("proposed_by", By::Text(|item| item.by.clone()), StagedItem::PROPOSED_BY),
        ("proposed", By::Time(|item| Some(item.created_at)), StagedItem::PROPOSED),
    ],
    usual: "",
};

/// A credential's policy, or the workspace mode, as short sentences.
fn rules(item: &CredentialItem) -> Vec<String> {
    match item.policy.as_deref().map(|document| Policy::from_json(document.as_bytes())) {
        Some(Ok(policy)) => labels::policy_rules(&policy),
        Some(Err(_)) => vec!["unreadable".to_owned()],
        None => labels::mode_rules(item.mode),
    }
}

fn policy_line(item: &CredentialItem) -> PolicyLine {
    PolicyLine { credential: item.row.name.clone(), own: item.policy.is_some(), rules: rules(item) }
}

/// A name, or `?` if the row that had it was removed.
fn or_removed(name: Option<&String>) -> String {
    name.map_or_else(|| "?".to_owned(), Clone::clone)
}

/// `any agent`, `crawler only`.
fn agents(item: &GrantItem) -> String {
    match item.row.agent_id {
        None => "any agent".to_owned(),
        Some(_) => format!("{} only", or_removed(item.agent.as_ref())),
    }
}

fn grant_line(item: &GrantItem, now: UnixMillis) -> GrantLine {
    let grant = &item.row;
    GrantLine {
        id: grant.id.to_string(),
        method: grant.method.to_string(),
        route: labels::short_route(&grant.route).to_owned(),
        credential: or_removed(item.credential.as_ref()),
        agents: agents(item),
        by: grant.created_by_email.clone(),
        expires: Timestamp::new(grant.expires_at, now),
        used: match (grant.uses, grant.max_uses) {
            (uses, Some(max)) => format!("{uses} of {max} times"),
            (0, None) => "never".to_owned(),
            (uses, None) => text::count_noun(u64::try_from(uses).unwrap_or(0), "time"),
        },
        revocable: true,
    }
}

fn staged_line(item: StagedItem, now: UnixMillis) -> StagedLine {
    StagedLine {
        id: item.id.to_string(),
        credential: item.credential,
        by: item.by,
        at: Timestamp::new(item.created_at, now),
    }
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
    let chats = form::Chats::from_state(&state.gateway);
    let mut warnings = match &stored {
        Some(policy) => {
            let able = ApproverCount::load(&state.gateway.store, workspace, row.id, policy).await?;
            form::warnings(policy, able, &chats)
        }
        None => Vec::new(),
    };
    warnings.extend(policies::warnings(&row, stored.as_ref(), mode));
    let form = shown
        .form
        .unwrap_or_else(|| form::from_policy(&stored.clone().unwrap_or_else(starting_point), &chats));
    html(&PolicyPage {
        shell: who.shell(state).await?,
        is_mcp: mcp_tools::options(&row).mcp_url.is_some(),
        credential: row.name,
        stored: stored.is_some(),
        mode: labels::mode(mode).to_owned(),
        form,
        warnings,
        explain: shown.explain,
        replay: shown.replay,
    })
}

/// A first policy starts like the gated mode: reading passes.
fn starting_point() -> Policy {
    Policy { auto_approve_methods: vec![pyxis_core::policy::Method::Get], ..Policy::default() }
}

pub(crate) async fn edit(
    Page { state, who, .. }: Page<SignedIn>,
    PathId(name): PathId,
) -> Result<Response, Error> {
    page(&state, &who, &name, PolicyListItem::default()).await
}

pub(crate) async fn save(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let stored = load_policy(&state.gateway.store, &who, &name).await?;
    let problems = match form::policy(&fields, stored.as_ref()) {
        Err(problems) => problems,
        Ok(policy) => match save_or_stage(&state, &who, &name, &policy).await {
            Ok(response) => return Ok(response),
            Err(error) => problem(error, "methods", form::field)?,
        },
    };
    let typed =
        form::typed(&fields, &stored.unwrap_or_default(), &form::Chats::from_state(&state.gateway), problems);
    let shown = PolicyListItem { form: Some(typed), ..PolicyListItem::default() };
    Ok(unprocessable(page(&state, &who, &name, shown).await?))
}

/// Saves a manager's policy at once; a member's is staged.
async fn save_or_stage(
    state: &State,
    who: &SignedIn,
    name: &str,
    policy: &Policy,
) -> Result<Response, Service> {
    if !who.person.user.role.is_manager() {
        let staged = staged::propose(&state.gateway, &who.person, name, policy).await?;
        return Ok(Notice::PolicyStaged.redirect(state.cookies, &format!("/app/staged/{}", staged.row.id)));
    }
    policies::put(&state.gateway, &who.person.actor(), name, policy).await?;
    let row = credentials::get(&state.gateway.store, who.person.workspace(), name).await?;
    Ok(Notice::PolicySaved.redirect(state.cookies, &format!("/app/policies/{}", row.name)))
}

/// The stored policy, for anyone who may change it.
async fn load_policy(store: &Store, who: &SignedIn, name: &str) -> Result<Option<Policy>, Error> {
    let row = credentials::get(store, who.person.workspace(), name).await?;
    who.require_policy(row.id)?;
    let found = policies::get(store, who.person.workspace(), name).await?;
    Ok(found.map(|(_, policy)| policy))
}

pub(crate) async fn explain(
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let (method, url) = (fields.trimmed("method"), fields.trimmed("url"));
    let (body, content_type) = (fields.text("body"), fields.get("content_type").to_owned());
    load_policy(&state.gateway.store, &who, &name).await?;
    let workspace = who.person.workspace();
    let request = ExplainedRequest {
        method: &method,
        url: &url,
        agent: None,
        body: Some(&*body).filter(|body| !body.is_empty()),
        content_type: Some(&content_type),
        sent: None,
    };
    let said = explanation::explain(&state.gateway, workspace, &name, &request).await?;
    let answer = Some(explained(said, &method));
    let shown = PolicyListItem {
        explain: Explain { method, url, body, content_type, answer },
        ..PolicyListItem::default()
    };
    page(&state, &who, &name, shown).await
}

fn explained(said: Explanation, method: &str) -> PolicyExplanation {
    let (outcome, decision) = decision(said.decision);
    // The words name the pattern if one matched; the page shows it once.
    let rule = match &said.pattern {
        Some(_) if said.rule == Rule::Content.as_str() => "content rule".to_owned(),
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
    PathId(name): PathId,
    SubmittedForm { state, who, fields }: SubmittedForm<SignedIn>,
) -> Result<Response, Error> {
    let stored = load_policy(&state.gateway.store, &who, &name).await?;
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
    let typed =
        form::typed(&fields, &stored.unwrap_or_default(), &form::Chats::from_state(&state.gateway), problems);
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
            (&other.method, &other.route, other.before, other.after, &other.reason)
                == (&line.method, &line.route, line.before, line.after, &line.reason)
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
    let rule = labels::rule(change.draft.rule, change.draft.pattern.as_deref(), &change.method);
    // A decision that stays the same is listed only for its warning.
    let is_same = change.now.decision == change.draft.decision;
    let warning = change.draft.warning.filter(|_| is_same).map(super::sentence);
    ReplayChange {
        count: 1,
        method: change.method.clone(),
        route: labels::short_route(&change.target).to_owned(),
        before: decision(change.now.decision).0,
        after: decision(change.draft.decision).0,
        reason: warning.unwrap_or(rule),
    }
}

pub(crate) async fn remove(
    PathId(name): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let row = credentials::get(&state.gateway.store, who.person.workspace(), &name).await?;
    policies::remove(&state.gateway.audited, &who.person.actor(), &name).await?;
    Ok(Notice::PolicyRemoved.redirect(state.cookies, &format!("/app/policies/{}", row.name)))
}

pub(crate) async fn revoke(
    PathId(id): PathId,
    SubmittedForm { state, who, .. }: SubmittedForm<Manager>,
) -> Result<Response, Error> {
    let id: GrantId = id.parse().map_err(|_| Error::NotFound)?;
    let notice = match grants::revoke(&state.gateway.audited, &who.person.actor(), id).await {
        Ok(()) => Notice::GrantRevoked,
        Err(Service::Conflict(_)) => Notice::GrantOver,
        Err(error) => return Err(error.into()),
    };
    Ok(notice.redirect(state.cookies, "/app/policies"))
}
