//! The part of authorization that reads the body: content rules and named methods
//! (`docs/reference/policy.md#content-rules`).

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use pyxis_core::policy::{
    self, CompiledPolicy, ContentCondition, Decision, Finding, Method, PolicyVerdict, RequestContent, Rule,
};
use pyxis_core::target::Target;
use pyxis_http::body::announces_more_than;

use crate::config::Config;
use crate::credentials::requests::authorize::{self, Authorization, Matched};
use crate::credentials::requests::body::peek;
use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::error::{Error, Result};
use crate::runtime::held_bodies::HeldBodies;
use crate::runtime::resolve::ResolvedCredential;

/// Content of a request with these headers and this body.
pub(crate) fn build<'a>(headers: &'a HeaderMap, target: &'a Target, body: &'a [u8]) -> RequestContent<'a> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let content_type = match (types.next(), types.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    };
    let hides = |value: &http::HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    let is_encoded = headers.get_all(CONTENT_ENCODING).iter().any(hides);
    RequestContent { content_type, is_encoded, query: target.query(), body }
}

/// Longest body that is read on the request's own thread, in bytes.
const MAX_INLINE: usize = 64 * 1024;

/// Makes an authorization stricter if the content calls for it. Reads the body only if a rule is about it or it may name
/// another method, and puts it back. `sent` are the headers that the target gets.
pub(crate) async fn authorize(
    config: &Config,
    held_bodies: &HeldBodies,
    asked: &ValidatedRequest<'_>,
    by_url: Authorization,
    body: &mut Option<Body>,
    sent: impl FnOnce() -> HeaderMap,
) -> Result<Authorization> {
    let Some(decision) = decision(&by_url) else { return Ok(by_url) };
    let (policy, method, target) = (compiled(asked.credential), asked.method, asked.target);
    let is_about_body = policy::content_concerns(policy, &decision, method, target);
    let is_tool = matches!(decision.rule, Rule::Tool | Rule::ToolChanged);
    let names_method = !is_tool && policy::query_may_name_method(target);
    let may_name_method = !is_tool && policy::body_may_name_method(policy, &decision, method, target);
    if !is_about_body && !names_method && !may_name_method {
        return Ok(by_url);
    }
    // What is read is what is sent: `Connection` may name headers that are dropped.
    let sent = sent();
    let max = config.pending_body_max;
    let is_too_long = body.as_ref().is_some_and(|body| announces_more_than(body, max));
    let content_type = build(&sent, target, &[]).content_type;
    let is_read = is_about_body || may_name_method && policy::may_have_parameters(content_type, is_too_long);
    if !is_read && !names_method {
        return Ok(by_url);
    }
    let bytes = if is_read { peek(config, held_bodies, body).await? } else { Bytes::new() };
    match check_body(asked, decision, &sent, bytes).await? {
        None => Ok(by_url),
        Some((PolicyVerdict::Deny, pattern)) => Ok(Authorization::Deny { pattern }),
        Some((_, pattern)) => {
            authorize::check_reason(asked)?;
            Ok(Authorization::RequireApproval(Matched { rule: Rule::Content, pattern }))
        }
    }
}

/// Verdict and rule of the finding about a body. A long one is read on a thread that may block.
async fn check_body(
    asked: &ValidatedRequest<'_>,
    decision: Decision<'static>,
    sent: &HeaderMap,
    body: Bytes,
) -> Result<Option<(PolicyVerdict, Option<String>)>> {
    let owned = |finding: Finding<'_>| (finding.verdict, finding.rule.map(str::to_owned));
    if body.len() <= MAX_INLINE {
        let content = build(sent, asked.target, &body);
        return Ok(finding(asked.credential, &decision, asked.method, asked.target, &content).map(owned));
    }
    let policy = asked.credential.policy.as_ref().map(|policy| Arc::clone(&policy.compiled));
    let (sent, method, target) = (sent.clone(), asked.method, asked.target.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let content = build(&sent, &target, &body);
        policy::evaluate_content(policy.as_deref(), &decision, method, &target, &content).map(owned)
    });
    reading.await.map_err(|panicked| Error::Internal(panicked.into()))
}

/// True if the content of a request is what a person approved. It meets these conditions, and nothing else in it needs
/// approval or is denied. A long body is read on a thread that may block.
pub(crate) async fn is_approved(
    asked: &ValidatedRequest<'_>,
    conditions: Vec<ContentCondition>,
    sent: &HeaderMap,
    body: &Bytes,
) -> Result<bool> {
    let by_url = authorize::decide(asked.credential, asked.method, asked.target);
    let decision = Decision { verdict: by_url.verdict, rule: by_url.rule, pattern: None };
    let policy = asked.credential.policy.as_ref().map(|policy| Arc::clone(&policy.compiled));
    if body.len() <= MAX_INLINE {
        let seen = (&build(sent, asked.target, body), &*conditions);
        return Ok(policy::content_is_approved(
            policy.as_deref(),
            &decision,
            asked.method,
            asked.target,
            seen,
        ));
    }
    let (sent, body, method, target) = (sent.clone(), body.clone(), asked.method, asked.target.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let seen = (&build(&sent, &target, &body), &*conditions);
        policy::content_is_approved(policy.as_deref(), &decision, method, &target, seen)
    });
    reading.await.map_err(|panicked| Error::Internal(panicked.into()))
}

/// True if the known content of a request is what a person approved.
pub(crate) fn meets(
    credential: &ResolvedCredential,
    (method, target): (Method, &Target),
    conditions: &[ContentCondition],
    content: &RequestContent<'_>,
) -> bool {
    let decision = authorize::decide(credential, method, target);
    policy::content_is_approved(compiled(credential), &decision, method, target, (content, conditions))
}

/// The decision by the URL; `None` if it cannot become stricter.
fn decision(by_url: &Authorization) -> Option<Decision<'static>> {
    let (verdict, matched) = match by_url {
        Authorization::Allow(matched) => (PolicyVerdict::AutoApprove, matched),
        Authorization::RequireApproval(matched) => (PolicyVerdict::RequireApproval, matched),
        Authorization::Deny { .. } => return None,
    };
    Some(Decision { verdict, rule: matched.rule, pattern: None })
}

/// Finding about the content of a whole request, beyond the decision by its URL.
pub(crate) fn finding<'c>(
    credential: &'c ResolvedCredential,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
    content: &RequestContent<'_>,
) -> Option<Finding<'c>> {
    policy::evaluate_content(compiled(credential), decision, method, target, content)
}

/// True if the content of a request must be known to tell what happens to it.
pub(crate) fn concerns(
    credential: &ResolvedCredential,
    decision: &Decision<'_>,
    method: Method,
    target: &Target,
) -> bool {
    policy::content_concerns(compiled(credential), decision, method, target)
}

fn compiled(credential: &ResolvedCredential) -> Option<&CompiledPolicy> {
    credential.policy.as_ref().map(|policy| &*policy.compiled)
}
