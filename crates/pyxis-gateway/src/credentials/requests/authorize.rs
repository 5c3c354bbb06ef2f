//! Authorization of requests: one function for `/forward`, for checking approved work again, for `explain`, and for the
//! forecast in `/agent/services`.

use pyxis_core::approval_mode::Channel;
use pyxis_core::clock::UnixMillis;
use pyxis_core::grant;
use pyxis_core::policy::{self, Decision, Method, Policy, PolicyVerdict, Rule};
use pyxis_core::target::{Scheme, Target};
use pyxis_store::Store;
use pyxis_store::grants::{self, GrantLookup};
use pyxis_store::tasks;
use tracing::Instrument;
use tracing::field::Empty;

pub(crate) use crate::credentials::requests::authorization::{AllowedBy, Authorization, Matched};
use crate::credentials::requests::tool_rules;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::{Error, Result};
use crate::runtime::resolve::ResolvedCredential;

/// Checks allowed hosts, egress guard and policy.
pub(crate) async fn authorize(
    store: &Store,
    net: &pyxis_net::Client,
    asked: &ValidatedRequest<'_>,
) -> Result<Authorization> {
    let span = tracing::trace_span!(target: "pyxis::trace", "judge", decision = Empty, rule = Empty);
    let judged = evaluate(store, net, asked).instrument(span.clone()).await;
    if span.is_disabled() {
        return judged;
    }
    let (decision, rule) = match &judged {
        Ok(Authorization::Allow(matched)) => ("auto_approve", matched.rule.as_str()),
        Ok(Authorization::RequireApproval(matched)) => ("require_approval", matched.rule.as_str()),
        Ok(Authorization::Deny { .. }) => ("deny", Rule::Deny.as_str()),
        Err(error) => ("refuse", error.code()),
    };
    span.record("decision", decision).record("rule", rule);
    judged
}

/// Checks everything visible in the request before resolving the host. An agent could otherwise leak data through DNS
/// queries for names that it makes up.
async fn evaluate(
    store: &Store,
    net: &pyxis_net::Client,
    asked: &ValidatedRequest<'_>,
) -> Result<Authorization> {
    check_allowed_hosts(asked.credential, asked.target)?;
    let host = host_port(asked.target);
    net.check_form(&host)?;
    let decision = decide(asked.credential, asked.method, asked.target);
    let judgment = match decision.verdict {
        PolicyVerdict::Deny => {
            return Ok(Authorization::Deny { pattern: decision.pattern.map(str::to_owned) });
        }
        verdict => match tool_rules::apply(store, asked, &decision).await? {
            Some(Authorization::Deny { pattern }) => return Ok(Authorization::Deny { pattern }),
            Some(judgment) => judgment,
            None if verdict == PolicyVerdict::AutoApprove => Authorization::Allow((&decision).into()),
            None => {
                check_reason(asked)?;
                Authorization::RequireApproval((&decision).into())
            }
        },
    };
    net.check(&host).await?;
    Ok(judgment)
}

/// Checks scheme and allowed hosts, which no person and no grant can widen.
pub(crate) fn check_allowed_hosts(credential: &ResolvedCredential, target: &Target) -> Result<()> {
    if target.scheme() == Scheme::Http && !credential.row.allow_http {
        return Err(Error::InvalidTarget(
            "plain http, which this credential does not allow; use https, or store it with allow_http"
                .to_owned(),
        ));
    }
    if !credential.hosts.admits(target) {
        return Err(Error::HostNotAllowed(target.authority().to_owned()));
    }
    Ok(())
}

/// The policy's decision, without grants and tasks.
pub(crate) fn decide<'a>(
    credential: &'a ResolvedCredential,
    method: Method,
    target: &Target,
) -> Decision<'a> {
    let compiled = credential.policy.as_ref().map(|policy| &*policy.compiled);
    policy::evaluate(compiled, credential.mode, method, target)
}

/// The target as input for the egress guard.
pub(crate) fn host_port(target: &Target) -> pyxis_net::HostPort {
    pyxis_net::HostPort::new(target.written_host(), target.port())
}

/// Checks for a reason if the policy requires one.
pub(super) fn check_reason(asked: &ValidatedRequest<'_>) -> Result<()> {
    let required = policy_of(asked.credential).is_some_and(|policy| policy.require_reason);
    if required && asked.control.reason.is_none_or(str::is_empty) {
        return Err(Error::MissingHeader("X-PX-Reason (this credential's policy asks for a reason)"));
    }
    Ok(())
}

/// Claims one use of a grant that covers the request, if one may replace the approval.
pub(crate) async fn use_grant(
    store: &Store,
    now: UnixMillis,
    asked: &ValidatedRequest<'_>,
    matched: &Matched,
) -> Result<Option<AllowedBy>> {
    let decision = decide(asked.credential, asked.method, asked.target);
    // A grant covers a URL. All tools of a server share one, and what the body says is another matter.
    let is_narrower = asked.credential.options.mcp_url.is_some() || matched.rule == Rule::Content;
    if is_narrower || !grant::grant_may_apply(&decision, policy_of(asked.credential)) {
        return Ok(None);
    }
    let row = &asked.credential.row;
    let wanted = GrantLookup {
        workspace: asked.agent.workspace_id(),
        credential: row.id,
        credential_version: row.version,
        method: asked.method,
        route: &asked.target.route(),
        agent: Some(asked.agent.id()),
        now,
    };
    let claimed = grants::claim_use(store, &wanted).await?;
    Ok(claimed.map(|grant| AllowedBy { grant: Some(grant), ..AllowedBy::rule(matched.clone()) }))
}

/// Returns the use of a grant or a task for a request that was not sent.
pub(crate) async fn return_permission(
    store: &Store,
    asked: &ValidatedRequest<'_>,
    allowed_by: &AllowedBy,
) -> Result<()> {
    let workspace = asked.agent.workspace_id();
    if let Some(grant) = &allowed_by.grant {
        grants::return_use(store, workspace, grant.id).await?;
    }
    if let Some(claimed) = allowed_by.task {
        tasks::return_use(store, workspace, claimed).await?;
    }
    Ok(())
}

/// The credential's policy, if any.
pub(crate) fn policy_of(credential: &ResolvedCredential) -> Option<&Policy> {
    credential.policy.as_ref().map(|policy| &policy.policy)
}

/// Number of approvals needed.
pub(crate) fn min_approvals(credential: &ResolvedCredential) -> u32 {
    policy_of(credential).map_or(1, |policy| policy.min_approvals)
}

/// True if approval needs a passkey.
pub(crate) fn passkey_required(credential: &ResolvedCredential) -> bool {
    policy_of(credential).is_some_and(|policy| policy.passkey_required)
}

/// Channel that announces approvals.
pub(crate) fn channel(credential: &ResolvedCredential) -> Channel {
    policy_of(credential).map_or(Channel::AgentReflected, |policy| policy.channel)
}
