//! Policies: editing, explaining, and replaying past requests.

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::Rooms;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant;
use pyxis_core::hosts::AllowedHosts;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_core::policy::{
    self, CompiledPolicy, EscalationTarget, Finding, Method, Operations, Policy, PolicyError, PolicyVerdict,
    RequestContent, Rule, idle_rules,
};
use pyxis_core::target::Target;
use pyxis_core::task::TaskUrl;
use pyxis_http::openapi::Time;
use pyxis_store::agents::AgentRow;
use pyxis_store::audit::{AuditedStore, Change};
use pyxis_store::credentials::CredentialRow;
use pyxis_store::grants::GrantLookup;
use pyxis_store::policies::{self, PolicyRow};
use pyxis_store::tasks::{self, TaskStop};
use pyxis_store::{Store, agents, audit, grants, workspaces};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{channels, credentials, satisfiability};
use crate::error::{Error, Result};
use crate::identity::voters;
use crate::requests::task_use::{self, Candidate, TaskRequest};
use crate::requests::{authorize, content};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;
use crate::task_ends::TaskEnds;
use pyxis_core::actor::Actor;

/// Maximum number of requests in a replay.
pub const MAX_REPLAY: u32 = 1000;

/// Outcome of a request, computed by the same function as `/forward`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// `refuse`: `/forward` would respond with 4xx, for example because the host is not allowed.
    #[schema(value_type = crate::values::ExplainedDecision)]
    pub decision: &'static str,
    /// The rule that decided.
    #[schema(value_type = crate::values::Rule)]
    pub rule: &'static str,
    /// The matching pattern.
    #[schema(required)]
    pub pattern: Option<String>,
    /// One sentence.
    pub detail: String,
    /// Only where the body matters and is not known here. Content rules would read it, or it goes to an RPC
    /// endpoint and no rule reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warning: Option<&'static str>,
}

/// Effect of a draft policy on past requests.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Replay)]
pub struct PolicyReplay {
    /// Number of requests compared.
    #[schema(minimum = 0)]
    pub checked: usize,
    /// Requests with a different decision, or with other content rules for the body, newest first.
    pub changed: Vec<Changed>,
}

/// A request whose decision would differ, or may differ by its body.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ReplayedRequest)]
pub struct Changed {
    /// Number of the audit record.
    pub seq: i64,
    /// Time of the request.
    #[schema(value_type = Time)]
    pub at: String,
    /// HTTP method.
    pub method: String,
    /// URL without its query.
    pub target: String,
    /// Decision under the current policy.
    pub now: Explanation,
    /// Decision under the draft.
    pub draft: Explanation,
}

/// Converts an invalid policy document to a 422 or 400.
pub fn invalid(error: PolicyError) -> Error {
    match error {
        PolicyError::Json(detail) => Error::InvalidJson(detail),
        PolicyError::Field { field, detail } => Error::field(field, detail),
    }
}

/// All policies of a workspace.
pub async fn list(store: &Store, workspace: WorkspaceId) -> Result<Vec<(CredentialId, Policy)>> {
    let rows = policies::list(store, workspace).await?;
    rows.into_iter().map(|row| Ok((row.credential_id, parse(&row)?))).collect()
}

/// The policy of a credential, by name, if it has one.
pub async fn get(store: &Store, workspace: WorkspaceId, name: &str) -> Result<Option<(PolicyRow, Policy)>> {
    let credential = credentials::get(store, workspace, name).await?;
    load(store, workspace, &credential).await
}

/// The policy of a credential, by id, if it has one.
pub async fn by_id(store: &Store, workspace: WorkspaceId, id: CredentialId) -> Result<Option<Policy>> {
    voters::policy_of(store, workspace, id).await
}

async fn load(
    store: &Store,
    workspace: WorkspaceId,
    credential: &CredentialRow,
) -> Result<Option<(PolicyRow, Policy)>> {
    let Some(row) = policies::find(store, workspace, credential.id).await? else { return Ok(None) };
    let policy = parse(&row)?;
    Ok(Some((row, policy)))
}

fn parse(row: &PolicyRow) -> Result<Policy> {
    Policy::from_json(row.document.as_bytes()).map_err(|error| Error::Internal(Box::new(error)))
}

/// Stores a policy. Ends grants that the stricter policy no longer allows. Returns the version.
pub async fn put(state: &State, actor: &Actor, name: &str, policy: &Policy) -> Result<i64> {
    put_if(state, actor, name, policy, None).await
}

/// Stores a policy in place of the one with this version; 0 if there is none. Fails if it has changed since.
pub async fn replace(state: &State, actor: &Actor, name: &str, policy: &Policy, base: i64) -> Result<i64> {
    put_if(state, actor, name, policy, Some(base)).await
}

async fn put_if(state: &State, actor: &Actor, name: &str, policy: &Policy, base: Option<i64>) -> Result<i64> {
    let credential = credentials::get(&state.store, actor.workspace, name).await?;
    check_chat(state, &credential, policy).await?;
    satisfiability::check(&state.store, actor.workspace, credential.id, policy).await?;
    let document = serde_json::to_string(policy).map_err(|error| Error::Internal(error.into()))?;
    let mut change = state.audited.begin(actor).await?;
    let before = before(&mut change, &credential).await?;
    let (tx, workspace, id, now) = (&mut change.tx, actor.workspace, credential.id, state.now());
    let version = match base {
        None => policies::put(tx, workspace, id, &document, &actor.name, now).await?,
        Some(base) => {
            let replaced =
                policies::replace_if_unchanged(tx, workspace, id, &document, base, &actor.name, now).await?;
            replaced.ok_or(Error::Conflict("the policy has changed meanwhile"))?
        }
    };
    let ended = end_grants(state.now(), &mut change, &credential, before.as_ref(), policy).await?;
    let ends = stop_tasks(state.now(), &mut change, &credential, before.as_ref(), policy).await?;
    let mut detail = json!({ "version": version, "policy": policy, "grants_ended": ended });
    if ends.stopped() > 0 {
        detail["tasks_stopped"] = ends.stopped().into();
    }
    ends.record(&mut change).await?;
    change.commit_about(AuditEvent::PolicyChanged, Some(&credential.name), detail).await?;
    ends.count();
    Ok(version)
}

/// Checks the policy's rooms that have changed.
pub(super) async fn check_chat(state: &State, credential: &CredentialRow, policy: &Policy) -> Result<()> {
    if policy.rooms == Rooms::default() && policy.escalation.is_empty() {
        return Ok(());
    }
    let stored = by_id(&state.store, credential.workspace_id, credential.id).await?;
    for (platform, room) in policy.rooms.iter() {
        if stored.as_ref().and_then(|stored| stored.rooms.get(platform)) != Some(room) {
            channels::check_room(state, platform, room).await?;
        }
    }
    for step in &policy.escalation {
        let EscalationTarget::Room(platform, room) = &step.target else { continue };
        let is_stored = |stored: &Policy| stored.rooms_on(*platform).any(|known| known == room);
        if !stored.as_ref().is_some_and(is_stored) {
            channels::check_room(state, *platform, room).await.map_err(in_escalation)?;
        }
    }
    Ok(())
}

/// Names the field of the document, not that of the step.
fn in_escalation(error: Error) -> Error {
    match error {
        Error::InvalidField { field, detail } => Error::field("escalation", format!("{field}: {detail}")),
        other => other,
    }
}

/// Locks and reads the policy before a change. From here on, no grant is opened under it.
pub(super) async fn before(change: &mut Change<'_>, credential: &CredentialRow) -> Result<Option<Policy>> {
    policies::lock(&mut change.tx, credential.workspace_id, credential.id).await?;
    let found = policies::find(&mut change.tx, credential.workspace_id, credential.id).await?;
    found.as_ref().map(parse).transpose()
}

/// Ends grants that the new policy no longer allows. Returns their number.
pub(super) async fn end_grants(
    now: UnixMillis,
    change: &mut Change<'_>,
    credential: &CredentialRow,
    before: Option<&Policy>,
    after: &Policy,
) -> Result<usize> {
    let tightened = policy::tightened(before, after);
    let (workspace, now) = (credential.workspace_id, now);
    let mut ended = 0;
    for grant in grants::list_live(&mut change.tx, workspace, credential.id, now).await? {
        let covered = Method::parse(&grant.method).zip(Target::parse(&grant.route).ok());
        // A grant that cannot be read must not outlive a policy change.
        if covered.is_none_or(|(method, target)| tightened.revokes(method, &target)) {
            grants::end(&mut change.tx, workspace, grant.id, "policy tightened", now).await?;
            ended += 1;
        }
    }
    Ok(ended)
}

/// Stops tasks with an action that the new policy no longer allows.
pub(super) async fn stop_tasks(
    now: UnixMillis,
    change: &mut Change<'_>,
    credential: &CredentialRow,
    before: Option<&Policy>,
    after: &Policy,
) -> Result<TaskEnds> {
    let tightened = policy::tightened(before, after);
    let workspace = credential.workspace_id;
    let mut ends = TaskEnds::default();
    for action in tasks::live_actions(&mut change.tx, workspace, credential.id, now).await? {
        let example = TaskUrl::parse(&action.url).ok().and_then(|url| url.example());
        let covered = Method::parse(&action.method).zip(example);
        if covered.is_none_or(|(method, target)| tightened.revokes(method, &target)) {
            let stop = TaskStop::after_change("policy tightened", now);
            ends.add_stopped(
                stop.reason,
                tasks::stop(&mut change.tx, workspace, action.task_id, stop).await?,
            );
        }
    }
    Ok(ends)
}

/// Removes a policy, so that the workspace's mode applies again.
pub async fn remove(db: &AuditedStore, actor: &Actor, name: &str) -> Result<()> {
    let credential = credentials::get(&db.store, actor.workspace, name).await?;
    let mut change = db.begin(actor).await?;
    if !policies::remove(&mut change.tx, actor.workspace, credential.id).await? {
        return Err(Error::not_found("policy"));
    }
    Ok(change.commit_about(AuditEvent::PolicyRemoved, Some(&credential.name), json!({})).await?)
}

/// Warning about a decision that the body may change.
const CONTENT_UNSEEN: &str = "content rules read the body, and none was given: add `body` and `content_type` to see what \
    they find";

/// Warning about a decision on a recorded request that its body may change.
const BODY_NOT_RECORDED: &str = "content rules would read the body, which is not recorded";
/// Warning of a replay about a request whose body other content rules would judge.
const BODY_READ_OTHERWISE: &str = "the content rules for this request differ, and its body is not recorded";

/// A request to explain.
#[derive(Clone, Copy, Debug)]
pub struct ExplainedRequest<'a> {
    /// HTTP method.
    pub method: &'a str,
    /// Full URL.
    pub url: &'a str,
    /// Name of an agent, whose own grants count then.
    pub agent: Option<&'a str>,
    /// Body, for content rules.
    pub body: Option<&'a str>,
    /// `Content-Type` of the body.
    pub content_type: Option<&'a str>,
}

/// Explains how `/forward` would treat a request, without DNS lookups.
pub async fn explain(
    state: &State,
    workspace: WorkspaceId,
    name: &str,
    request: &ExplainedRequest<'_>,
) -> Result<Explanation> {
    let ExplainedRequest { method, url, agent, body, content_type } = *request;
    let row = credentials::get(&state.store, workspace, name).await?;
    let mode = mode(&state.store, workspace).await?;
    let policy = policies::find(&state.store, workspace, row.id).await?;
    let credential =
        ResolvedCredential::parse(row, policy.as_ref().map(|policy| policy.document.as_str()), mode)?;
    let agent = match agent {
        None => None,
        // A member may ask, so the names of other agents stay out of the refusal.
        Some(name) => {
            let found = agents::find_by_name(&state.store, workspace, name).await?;
            Some(found.ok_or_else(|| Error::not_found("agent"))?)
        }
    };
    if let Some(agent) = &agent
        && let Some(reason) = barred(&state.store, agent, credential.row.id).await?
    {
        return Ok(refuse(Rule::Target, reason.to_owned()));
    }
    if credential.options.mcp_url.is_some() {
        let detail = "the credential is one of an MCP server; agents call its tools at /mcp";
        return Ok(refuse(Rule::Target, detail.to_owned()));
    }
    let Some(method) = Method::parse(method) else {
        return Ok(refuse(
            Rule::Target,
            "the method must be GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS or WEBSOCKET".to_owned(),
        ));
    };
    let target = match Target::parse(url) {
        Ok(target) => target,
        Err(error) => return Ok(refuse(Rule::Target, error.to_string())),
    };
    match authorize::check_allowed_hosts(&credential, &target) {
        Err(error @ Error::HostNotAllowed(_)) => return Ok(refuse(Rule::AllowedHosts, error.to_string())),
        Err(error) => return Ok(refuse(Rule::Target, error.to_string())),
        Ok(()) => {}
    }
    if let Err(error) = state.net.check_form(&authorize::host_port(&target)) {
        return Ok(refuse(Rule::Target, error.to_string()));
    }
    let decision = authorize::decide(&credential, method, &target);
    let concerns = content::concerns(&credential, &decision, method, &target);
    // Methods that only read usually have no body.
    let body = body.or((method.is_safe() || method == Method::WebSocket).then_some(""));
    // Without a body, only the query can name another method.
    if !concerns || body.is_some() {
        let body = body.unwrap_or_default().as_bytes();
        let seen = RequestContent { content_type, is_encoded: false, query: target.query(), body };
        if let Some(found) = content::finding(&credential, &decision, method, &target, &seen) {
            if found.verdict == PolicyVerdict::RequireApproval
                && let Some(agent) = &agent
                && let Some(detail) =
                    by_task(state, agent, &credential, (method, &target), Some(&seen)).await?
            {
                return Ok(task_explanation(detail, warning(method, &target)));
            }
            return Ok(by_content(&found));
        }
    }
    let unseen = (concerns && body.is_none()).then_some(CONTENT_UNSEEN);
    let known = body.map(|body| RequestContent {
        content_type,
        is_encoded: false,
        query: target.query(),
        body: body.as_bytes(),
    });
    if decision.verdict == PolicyVerdict::RequireApproval
        && grant::grant_may_apply(&decision, authorize::policy_of(&credential))
    {
        let row = &credential.row;
        let (route, now) = (target.route(), state.now());
        let wanted = GrantLookup {
            workspace,
            credential: row.id,
            credential_version: row.version,
            method: method.as_str(),
            route: &route,
            agent: agent.as_ref().map(|agent| agent.id),
            now,
        };
        if let Some(found) = grants::covering(&state.store, &wanted).await? {
            return Ok(Explanation {
                decision: "auto_approve",
                rule: Rule::Grant.as_str(),
                pattern: None,
                detail: format!("a grant covers this request until {}", found.expires_at.to_rfc3339()),
                warning: unseen.or_else(|| warning(method, &target)),
            });
        }
        if let Some(agent) = &agent
            && let Some(detail) =
                by_task(state, agent, &credential, (method, &target), known.as_ref()).await?
        {
            return Ok(task_explanation(detail, unseen.or_else(|| warning(method, &target))));
        }
    }
    let unread = || if concerns { None } else { passing(&decision, method, &target) };
    Ok(Explanation { warning: unseen.or_else(unread), ..to_explanation(&decision) })
}

/// One sentence about the task of an agent that covers a request, if there is one. Without the content, actions with
/// conditions on it do not count.
async fn by_task(
    state: &State,
    agent: &AgentRow,
    credential: &ResolvedCredential,
    (method, target): (Method, &Target),
    content: Option<&RequestContent<'_>>,
) -> Result<Option<String>> {
    let request = TaskRequest { workspace: agent.workspace_id, agent: agent.id, credential, method, target };
    for Candidate { action, conditions } in task_use::candidates(&state.store, request, state.now()).await? {
        let is_met = match content {
            Some(content) => content::meets(credential, (method, target), &conditions, content),
            None => conditions.is_empty(),
        };
        if is_met {
            let (task, left, most) = (action.task_id, action.max_uses - action.uses, action.max_uses);
            return Ok(Some(format!("task {task} covers this request, with {left} of {most} uses left")));
        }
    }
    Ok(None)
}

/// The explanation of a request that a task covers.
fn task_explanation(detail: String, warning: Option<&'static str>) -> Explanation {
    Explanation {
        decision: PolicyVerdict::AutoApprove.as_str(),
        rule: Rule::Task.as_str(),
        pattern: None,
        detail,
        warning,
    }
}

/// The explanation of a decision by a content rule.
fn by_content(found: &Finding<'_>) -> Explanation {
    Explanation {
        decision: found.verdict.as_str(),
        rule: Rule::Content.as_str(),
        pattern: found.rule.map(str::to_owned),
        detail: found.fact.clone(),
        warning: None,
    }
}

/// Warning about effects that path and method do not show.
fn warning(method: Method, target: &Target) -> Option<&'static str> {
    if method.is_safe() { None } else { Operations::from_target(target).map(Operations::warning) }
}

/// Like [`warning`], only for a request that passes unseen. Content rules see what a GraphQL request does.
fn passing(decision: &policy::Decision<'_>, method: Method, target: &Target) -> Option<&'static str> {
    let is_seen = decision.rule != Rule::AutonomousDefault
        && Operations::from_target(target) == Some(Operations::GraphQl);
    if decision.verdict == PolicyVerdict::AutoApprove && !is_seen { warning(method, target) } else { None }
}

/// Warnings about rules that never decide, and about requests that a policy, or the workspace's mode, allows unseen. The
/// latter concern endpoints where the body determines the effect, found through a pattern or through the known purpose of
/// a credential's host.
pub fn warnings(credential: &CredentialRow, policy: Option<&Policy>, mode: ApprovalMode) -> Vec<String> {
    let compiled = policy.cloned().map(|policy| policy.compile());
    let hosts: Vec<String> = serde_json::from_str(&credential.allowed_hosts).unwrap_or_default();
    let by_pattern = policy.into_iter().flat_map(|policy| &policy.auto_approve_urls).filter_map(|pattern| {
        let found = Operations::of_pattern(pattern).filter(|found| *found != Operations::GraphQl)?;
        let is_read = is_read(compiled.as_ref(), mode, pattern);
        (!is_read).then(|| format!("{pattern} is allowed, but {}.", found.warning()))
    });
    let known = Operations::known_endpoints(hosts.iter().map(String::as_str));
    let by_host = known.into_iter().filter_map(|url| {
        let target = Target::parse(&url).ok()?;
        let decision = policy::evaluate(compiled.as_ref(), mode, Method::Post, &target);
        let found = passing(&decision, Method::Post, &target)?;
        Some(format!("POST to {url} is allowed, but {found}."))
    });
    // Hosts that cannot be read are refused elsewhere.
    let allowed = AllowedHosts::parse(&hosts).unwrap_or_default();
    let idle = policy.into_iter().flat_map(|policy| idle_rules(policy, &allowed));
    idle.map(|rule| format!("{}.", rule.detail)).chain(by_pattern).chain(by_host).collect()
}

/// True if content rules read the bodies of requests that a pattern lets pass.
fn is_read(policy: Option<&CompiledPolicy>, mode: ApprovalMode, pattern: &str) -> bool {
    let host = if pattern.starts_with('/') { "any.example" } else { "" };
    let example = Target::parse(&format!("https://{host}{}", pattern.replace('*', "any")));
    example.is_ok_and(|target| {
        let decision = policy::evaluate(policy, mode, Method::Post, &target);
        policy::content_concerns(policy, &decision, Method::Post, &target)
    })
}

/// Reason that an agent cannot use a credential at all.
async fn barred(store: &Store, agent: &AgentRow, credential: CredentialId) -> Result<Option<&'static str>> {
    if agent.disabled_at.is_some() {
        return Ok(Some("the agent is disabled"));
    }
    let assigned = agents::may_use(store, agent.workspace_id, agent.id, credential).await?;
    Ok((!assigned).then_some("the agent may not use this credential"))
}

fn refuse(rule: Rule, detail: String) -> Explanation {
    Explanation { decision: "refuse", rule: rule.as_str(), pattern: None, detail, warning: None }
}

fn to_explanation(decision: &policy::Decision<'_>) -> Explanation {
    Explanation {
        decision: decision.verdict.as_str(),
        rule: decision.rule.as_str(),
        pattern: decision.pattern.map(str::to_owned),
        detail: decision.detail().to_owned(),
        warning: None,
    }
}

/// Evaluates the latest requests with this credential under `draft` and returns those with a different decision, or whose
/// body other content rules would judge.
pub async fn replay(
    store: &Store,
    workspace: WorkspaceId,
    name: &str,
    draft: &Policy,
    last: u32,
) -> Result<PolicyReplay> {
    let credential = credentials::get(store, workspace, name).await?;
    let mode = mode(store, workspace).await?;
    let present = load(store, workspace, &credential).await?.map(|(_, policy)| policy.compile());
    let draft = draft.compile();
    let last = last.clamp(1, MAX_REPLAY);
    let records = audit::recent_forwards(store, workspace, &credential.name, last).await?;
    let present = present.as_ref();
    let mut replay = PolicyReplay { checked: 0, changed: Vec::new() };
    for record in records {
        let Some((method, target)) = request_of(&record.record) else { continue };
        replay.checked += 1;
        let now = explain_decision(present, mode, method, &target);
        let mut then = explain_decision(Some(&draft), mode, method, &target);
        let is_read_alike = policy::same_content_rules([present, Some(&draft)], mode, method, &target);
        if !is_read_alike {
            then.warning = Some(BODY_READ_OTHERWISE);
        }
        if now.decision != then.decision || !is_read_alike {
            replay.changed.push(Changed {
                seq: record.seq,
                at: record.record.at.to_rfc3339(),
                method: method.as_str().to_owned(),
                target: target.to_string(),
                now,
                draft: then,
            });
        }
    }
    Ok(replay)
}

fn request_of(record: &audit::AuditRecord) -> Option<(Method, Target)> {
    let detail: serde_json::Value = serde_json::from_str(&record.detail).ok()?;
    let target = Target::parse(detail.get("target")?.as_str()?).ok()?;
    Some((Method::parse(record.method.as_deref()?)?, target))
}

fn explain_decision(
    policy: Option<&CompiledPolicy>,
    mode: ApprovalMode,
    method: Method,
    target: &Target,
) -> Explanation {
    let decision = policy::evaluate(policy, mode, method, target);
    if method == Method::WebSocket {
        let nothing =
            RequestContent { content_type: None, is_encoded: false, query: target.query(), body: b"" };
        let found = policy::evaluate_content(policy, &decision, method, target, &nothing);
        return found.map_or_else(|| to_explanation(&decision), |found| by_content(&found));
    }
    let is_unseen = policy::content_concerns(policy, &decision, method, target);
    Explanation { warning: is_unseen.then_some(BODY_NOT_RECORDED), ..to_explanation(&decision) }
}

pub async fn mode(store: &Store, workspace: WorkspaceId) -> Result<ApprovalMode> {
    let found = workspaces::find(store, workspace).await?;
    Ok(found.ok_or(Error::not_found("workspace"))?.mode)
}
