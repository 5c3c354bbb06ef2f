//! Explains how `/forward` would treat a request.

use http::HeaderMap;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_core::policy::{self, Finding, Method, Operations, PolicyVerdict, RequestContent, Rule};
use pyxis_core::target::Target;
use pyxis_store::agents::AgentRow;
use pyxis_store::grants::GrantLookup;
use pyxis_store::{Store, agents, grants, policies};
use serde::Serialize;
use utoipa::ToSchema;

use super::{credentials, workspaces};
use crate::credentials::outbound::clean_headers;
use crate::credentials::requests::task_use::{self, Candidate, TaskRequest};
use crate::credentials::requests::{authorize, content};
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;
use crate::runtime::state::State;

/// Outcome of a request, computed by the same function as `/forward`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(example = json!({
    "decision": "require_approval",
    "rule": "require_url",
    "pattern": "api.github.com/repos/*/*/hooks",
    "detail": "the URL matches require_approval_urls, which overrides every rule except deny"
}))]
pub struct Explanation {
    /// `refuse`: `/forward` would respond with 4xx, for example because the host is not allowed.
    #[schema(value_type = crate::values::ExplainedDecision)]
    pub decision: &'static str,
    /// The rule that decided.
    #[schema(value_type = crate::values::Rule)]
    pub rule: &'static str,
    /// The matching pattern.
    #[schema(required, example = "api.github.com/repos/*/*/hooks")]
    pub pattern: Option<String>,
    /// One sentence.
    #[schema(example = "the URL matches require_approval_urls, which overrides every rule except deny")]
    pub detail: String,
    /// Only where the body matters and is not known here. Content rules would read it, or it goes to an RPC
    /// endpoint and no rule reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warning: Option<&'static str>,
}

impl Explanation {
    /// The explanation of a decision by a content rule.
    pub(super) fn of_content(found: &Finding<'_>) -> Self {
        Self {
            decision: found.verdict.as_str(),
            rule: Rule::Content.as_str(),
            pattern: found.rule.map(str::to_owned),
            detail: found.fact.clone(),
            warning: None,
        }
    }

    /// The explanation of a decision by method and URL.
    pub(super) fn of_decision(decision: &policy::Decision<'_>) -> Self {
        Self {
            decision: decision.verdict.as_str(),
            rule: decision.rule.as_str(),
            pattern: decision.pattern.map(str::to_owned),
            detail: decision.detail().to_owned(),
            warning: None,
        }
    }

    /// The same decision for a request without the reason that the policy requires.
    fn without_reason(self) -> Self {
        let detail = "the request needs approval, and the credential's policy asks for a reason; add one";
        Self { decision: "refuse", detail: detail.to_owned(), ..self }
    }

    fn refuse(rule: Rule, detail: String) -> Self {
        Self { decision: "refuse", rule: rule.as_str(), pattern: None, detail, warning: None }
    }
}

/// Warning about a decision that the body may change.
const CONTENT_UNSEEN: &str = "content rules read the body, and none was given: add `body` and `content_type` to see what \
    they find";

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
    /// `Content-Type` of the body, if the headers are not known.
    pub content_type: Option<&'a str>,
    /// The rest of a request that an agent is about to send. It is judged as `/forward` would judge it.
    pub sent: Option<SentParts<'a>>,
}

/// Parts of a request besides method, URL and body.
#[derive(Clone, Copy, Debug)]
pub struct SentParts<'a> {
    /// Headers for the target.
    pub headers: &'a HeaderMap,
    /// Reason for the approver.
    pub reason: Option<&'a str>,
}

/// Headers by which content rules read a body.
enum KnownHeaders<'a> {
    /// All that the target gets.
    All(HeaderMap),
    /// The type of the body alone.
    Type(Option<&'a str>),
}

impl KnownHeaders<'_> {
    fn of_request<'a>(request: &ExplainedRequest<'a>, credential: &ResolvedCredential) -> KnownHeaders<'a> {
        match request.sent {
            Some(sent) => KnownHeaders::All(clean_headers(sent.headers, credential)),
            None => KnownHeaders::Type(request.content_type),
        }
    }

    /// Content for content rules, with this body.
    fn content<'c>(&'c self, target: &'c Target, body: &'c str) -> RequestContent<'c> {
        match self {
            Self::All(headers) => content::build(headers, target, body.as_bytes()),
            Self::Type(content_type) => RequestContent {
                content_type: *content_type,
                is_encoded: false,
                query: target.query(),
                body: body.as_bytes(),
            },
        }
    }
}

/// A request whose credential may be sent to its target.
struct AddressedRequest<'a> {
    agent: Option<&'a AgentRow>,
    credential: &'a ResolvedCredential,
    method: Method,
    target: &'a Target,
}

/// Explains how `/forward` would treat a request, without DNS lookups.
pub async fn explain(
    state: &State,
    workspace: WorkspaceId,
    name: &str,
    request: &ExplainedRequest<'_>,
) -> Result<Explanation> {
    let store = &state.store;
    let credential = load_credential(store, workspace, name).await?;
    let agent = match request.agent {
        None => None,
        // A member may ask, so the names of other agents stay out of the refusal.
        Some(name) => {
            let found = agents::find_by_name(store, workspace, name).await?;
            Some(found.ok_or_else(|| Error::not_found("agent"))?)
        }
    };
    if let Some(agent) = &agent
        && let Some(reason) = barred(store, agent, credential.row.id).await?
    {
        return Ok(Explanation::refuse(Rule::Target, reason.to_owned()));
    }
    let (method, target) = match address(&state.net, &credential, request) {
        Ok(found) => found,
        Err(refusal) => return Ok(refusal),
    };
    let agent = agent.as_ref();
    let asked = AddressedRequest { agent, credential: &credential, method, target: &target };
    asked.explain(store, state.now(), request).await
}

/// A credential with its policy, by name.
async fn load_credential(store: &Store, workspace: WorkspaceId, name: &str) -> Result<ResolvedCredential> {
    let row = credentials::get(store, workspace, name).await?;
    let mode = workspaces::get(store, workspace).await?.mode;
    let policy = policies::find(store, workspace, row.id).await?;
    ResolvedCredential::parse(row, policy.as_ref().map(|policy| policy.document.as_str()), mode)
}

/// Reason that an agent cannot use a credential at all.
async fn barred(store: &Store, agent: &AgentRow, credential: CredentialId) -> Result<Option<&'static str>> {
    if agent.disabled_at.is_some() {
        return Ok(Some("the agent is disabled"));
    }
    let assigned = agents::may_use(store, agent.workspace_id, agent.id, credential).await?;
    Ok((!assigned).then_some("the agent may not use this credential"))
}

/// The method and target of a request, if the credential may be sent there.
fn address(
    net: &pyxis_net::Client,
    credential: &ResolvedCredential,
    request: &ExplainedRequest<'_>,
) -> Result<(Method, Target), Explanation> {
    let refuse = |detail: String| Explanation::refuse(Rule::Target, detail);
    if credential.options.mcp_url.is_some() {
        let detail = "the credential is one of an MCP server; agents call its tools at /mcp";
        return Err(refuse(detail.to_owned()));
    }
    // A tool sends requests and opens no WebSocket.
    let (method, allowed) = match request.sent {
        Some(_) => (Method::parse_http(request.method), "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"),
        None => (Method::parse(request.method), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS or WEBSOCKET"),
    };
    let method = method.ok_or_else(|| refuse(format!("the method must be {allowed}")))?;
    let target = Target::parse(request.url).map_err(|error| refuse(error.to_string()))?;
    authorize::check_allowed_hosts(credential, &target).map_err(|error| match error {
        Error::HostNotAllowed(_) => Explanation::refuse(Rule::AllowedHosts, error.to_string()),
        _ => refuse(error.to_string()),
    })?;
    net.check_form(&authorize::host_port(&target)).map_err(|error| refuse(error.to_string()))?;
    Ok((method, target))
}

impl AddressedRequest<'_> {
    /// Explains what policy, grants and tasks say.
    async fn explain(
        &self,
        store: &Store,
        now: UnixMillis,
        request: &ExplainedRequest<'_>,
    ) -> Result<Explanation> {
        let Self { credential, method, target, .. } = *self;
        let decision = authorize::decide(credential, method, target);
        let headers = KnownHeaders::of_request(request, credential);
        let lacks_reason = self.lacks_reason(request);
        if lacks_reason && decision.verdict == PolicyVerdict::RequireApproval {
            return Ok(Explanation::of_decision(&decision).without_reason());
        }
        let concerns = content::concerns(credential, &decision, method, target);
        // Methods that only read usually have no body.
        let body = request.body.or((method.is_safe() || method == Method::WebSocket).then_some(""));
        // Without a body, only the query can name another method.
        if !concerns || body.is_some() {
            let seen = headers.content(target, body.unwrap_or_default());
            if let Some(found) = content::finding(credential, &decision, method, target, &seen) {
                if lacks_reason && found.verdict == PolicyVerdict::RequireApproval {
                    return Ok(Explanation::of_content(&found).without_reason());
                }
                return self.explain_finding(store, now, &found, &seen).await;
            }
        }
        let known = body.map(|body| headers.content(target, body));
        let unseen = (concerns && body.is_none()).then_some(CONTENT_UNSEEN);
        if decision.verdict == PolicyVerdict::RequireApproval
            && grant::grant_may_apply(&decision, authorize::policy_of(credential))
            && let Some(covered) = self.by_permission(store, now, known.as_ref()).await?
        {
            return Ok(Explanation { warning: unseen.or_else(|| warning(method, target)), ..covered });
        }
        let unread = || if concerns { None } else { passing(&decision, method, target) };
        Ok(Explanation { warning: unseen.or_else(unread), ..Explanation::of_decision(&decision) })
    }

    /// True if the request has no reason and the policy requires one of requests that need approval.
    fn lacks_reason(&self, request: &ExplainedRequest<'_>) -> bool {
        let is_required = authorize::policy_of(self.credential).is_some_and(|policy| policy.require_reason);
        is_required && request.sent.is_some_and(|sent| sent.reason.is_none_or(str::is_empty))
    }

    /// Explains the decision of a content rule, which a task may have approved.
    async fn explain_finding(
        &self,
        store: &Store,
        now: UnixMillis,
        found: &Finding<'_>,
        seen: &RequestContent<'_>,
    ) -> Result<Explanation> {
        if found.verdict == PolicyVerdict::RequireApproval
            && let Some(covered) = self.by_task(store, now, Some(seen)).await?
        {
            return Ok(Explanation { warning: warning(self.method, self.target), ..covered });
        }
        Ok(Explanation::of_content(found))
    }

    /// The explanation by a grant or a task that covers the request, if there is one.
    async fn by_permission(
        &self,
        store: &Store,
        now: UnixMillis,
        content: Option<&RequestContent<'_>>,
    ) -> Result<Option<Explanation>> {
        let (row, route) = (&self.credential.row, self.target.route());
        let wanted = GrantLookup {
            workspace: row.workspace_id,
            credential: row.id,
            credential_version: row.version,
            method: self.method,
            route: &route,
            agent: self.agent.map(|agent| agent.id),
            now,
        };
        if let Some(found) = grants::covering(store, &wanted).await? {
            return Ok(Some(Explanation {
                decision: "auto_approve",
                rule: Rule::Grant.as_str(),
                pattern: None,
                detail: format!("a grant covers this request until {}", found.expires_at.to_rfc3339()),
                warning: None,
            }));
        }
        self.by_task(store, now, content).await
    }

    /// The explanation by a task of the agent that covers the request, if there is one. Without the content, actions
    /// with conditions on it do not count.
    async fn by_task(
        &self,
        store: &Store,
        now: UnixMillis,
        content: Option<&RequestContent<'_>>,
    ) -> Result<Option<Explanation>> {
        let Self { agent: Some(agent), credential, method, target } = *self else { return Ok(None) };
        let request =
            TaskRequest { workspace: agent.workspace_id, agent: agent.id, credential, method, target };
        for Candidate { action, conditions } in task_use::candidates(store, request, now).await? {
            let is_met = match content {
                Some(content) => content::meets(credential, (method, target), &conditions, content),
                None => conditions.is_empty(),
            };
            if is_met {
                let (task, left, most) = (action.task_id, action.max_uses - action.uses, action.max_uses);
                return Ok(Some(Explanation {
                    decision: PolicyVerdict::AutoApprove.as_str(),
                    rule: Rule::Task.as_str(),
                    pattern: None,
                    detail: format!("task {task} covers this request, with {left} of {most} uses left"),
                    warning: None,
                }));
            }
        }
        Ok(None)
    }
}

/// Warning about effects that path and method do not show.
fn warning(method: Method, target: &Target) -> Option<&'static str> {
    if method.is_safe() { None } else { Operations::from_target(target).map(Operations::warning) }
}

/// Like [`warning`], only for a request that passes unseen. Content rules see what a GraphQL request does.
pub(super) fn passing(
    decision: &policy::Decision<'_>,
    method: Method,
    target: &Target,
) -> Option<&'static str> {
    let is_seen = decision.rule != Rule::AutonomousDefault
        && Operations::from_target(target) == Some(Operations::GraphQl);
    if decision.verdict == PolicyVerdict::AutoApprove && !is_seen { warning(method, target) } else { None }
}
