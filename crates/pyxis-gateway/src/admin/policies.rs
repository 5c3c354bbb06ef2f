//! Policies: editing, and replaying past requests.

use pyxis_core::actor::Actor;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::Rooms;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hosts::AllowedHosts;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_core::policy::{
    self, CompiledPolicy, EscalationTarget, Method, Operations, Policy, PolicyError, RequestContent,
    idle_rules,
};
use pyxis_core::target::Target;
use pyxis_core::task::TaskUrl;
use pyxis_http::openapi::Time;
use pyxis_store::audit::{AuditedStore, Change};
use pyxis_store::credentials::CredentialRow;
use pyxis_store::policies::{self, PolicyRow};
use pyxis_store::tasks::{self, TaskStop};
use pyxis_store::{Store, audit, grants};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::explanation::{Explanation, passing};
use super::{channels, credentials, satisfiability, workspaces};
use crate::approvals::tasks::TaskEnds;
use crate::error::{Error, Result};
use crate::identity::voters;
use crate::runtime::state::State;

/// Maximum number of requests in a replay.
pub const MAX_REPLAY: u32 = 1000;

/// Effect of a draft policy on past requests.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Replay)]
pub struct PolicyReplay {
    /// Number of requests compared.
    #[schema(minimum = 0, example = 200)]
    pub checked: usize,
    /// Requests with a different decision, or with other content rules for the body, newest first.
    pub changed: Vec<Changed>,
}

/// A request whose decision would differ, or may differ by its body.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ReplayedRequest)]
pub struct Changed {
    /// Number of the audit record.
    #[schema(example = 812)]
    pub seq: i64,
    /// Time of the request.
    #[schema(value_type = Time)]
    pub at: String,
    /// HTTP method.
    #[schema(example = "POST")]
    pub method: String,
    /// URL without its query.
    #[schema(example = "https://api.github.com/repos/example/site/hooks")]
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
    let workspace = credential.workspace_id;
    let mut ended = 0;
    for grant in grants::list_live(&mut change.tx, workspace, credential.id, now).await? {
        let covered = grant.method.known().zip(Target::parse(&grant.route).ok());
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
        let covered = action.method.known().zip(example);
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

/// Warning about a decision on a recorded request that its body may change.
const BODY_NOT_RECORDED: &str = "content rules would read the body, which is not recorded";
/// Warning of a replay about a request whose body other content rules would judge.
const BODY_READ_OTHERWISE: &str = "the content rules for this request differ, and its body is not recorded";

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
    let mode = workspaces::get(store, workspace).await?.mode;
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
    Some((record.method.as_ref()?.known()?, target))
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
        return found
            .map_or_else(|| Explanation::of_decision(&decision), |found| Explanation::of_content(&found));
    }
    let is_unseen = policy::content_concerns(policy, &decision, method, target);
    Explanation { warning: is_unseen.then_some(BODY_NOT_RECORDED), ..Explanation::of_decision(&decision) }
}
